"""What the apps must show, number by number, and where each is tested."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.source_tree import ROOT

WITHOUT_A_BROWSER = {
    "1 pass and fail advance": ["rating/test_label.py::test_pass_and_fail_store_and_advance"],
    "2 cannot decide needs a reason, Esc returns": [
        "rating/test_label.py::test_cannot_decide_needs_a_reason_and_leads_back",
        "rating/test_label.py::test_keys_are_unique_in_every_state",
    ],
    "3 undo restores the item and keeps both rows": [
        "rating/test_label.py::test_undo_brings_the_item_back_and_keeps_both_rows"
    ],
    "4 undo is closed at the start": ["rating/test_label.py::test_undo_is_closed_at_the_start"],
    "5 shortcuts unique in each state, none c or r": [
        "rating/test_label.py::test_keys_are_unique_in_every_state",
        "rating/test_adjudicate.py::test_keys_are_unique_on_both_steps",
    ],
    "6 button keys hold the item": ["rating/test_label.py::test_widget_keys_are_bound_to_the_task"],
    "7 order by rater and seed": [
        "rating/test_label.py::test_order_is_the_raters_own",
        "/calibration/labeling/test_plan.py::test_the_order_is_the_seeds_and_each_raters_own",
    ],
    "8 nothing of another rater": ["rating/test_label.py::test_page_holds_nothing_that_could_bias"],
    "9 no judge's table is read": ["rating/test_blind.py::test_no_judge_table_is_read_on_any_page"],
    "10 pages by role": [
        "rating/test_people.py::test_pages_follow_the_roles",
        "rating/test_people.py::test_role_taken_away_closes_the_page",
        "review/test_records.py::test_every_page_asks_for_the_role",
    ],
    "11 repeats once, 30 items apart": [
        "rating/test_label.py::test_repeat_looks_like_any_other_item",
        "/calibration/labeling/test_sessions.py::test_hidden_repeats_ask_again_at_a_distance_and_look_the_same",
    ],
    "12 a rubric is fixed, its version on the label": [
        "rating/test_label.py::test_labels_name_the_rubric_version",
        "/calibration/store/test_items.py::test_other_content_under_a_published_version_is_refused",
    ],
    "13 adjudicator is no labeller, verdict before the reveal": [
        "rating/test_adjudicate.py::test_own_verdict_comes_before_the_reveal",
        "rating/test_adjudicate.py::test_rater_of_the_session_has_nothing_to_adjudicate",
        "/calibration/labeling/test_blind.py::test_nobody_adjudicates_what_they_rated",
    ],
    "14 numbers are the calibration module's": [
        "review/test_judges.py::test_numbers_are_the_calibration_modules"
    ],
    "15 no default decision, a reason, a second signer": [
        "review/test_judges.py::test_nothing_is_preselected_and_sign_waits_for_a_reason",
        "review/test_judges.py::test_an_override_takes_a_second_person",
    ],
    "16 no text in a slot that formats": [
        "test_pages.py::test_no_element_carries_a_text_as_markdown",
        "rating/test_blind.py::test_hostile_texts_reach_no_markdown",
        "review/test_hostile_pages.py::test_every_page_about_judges_shows_words_only",
    ],
    "17 empty queue, one item, ten thousand": [
        "rating/test_label.py::test_all_done_says_what_waits",
        "rating/test_label.py::test_queue_of_one_item",
        "rating/test_label.py::test_long_queue_shows_a_batch_and_a_number",
    ],
    "18 resume": ["rating/test_label.py::test_new_tab_resumes_at_the_same_item"],
    "19 no page raises": [
        "test_pages.py::test_no_element_carries_a_text_as_markdown",
        "review/test_hostile_pages.py::test_every_page_about_judges_shows_words_only",
    ],
}
IN_A_BROWSER = {
    "1 from key to next item": [
        "test_rating_keys.py::test_one_key_is_one_answer",
        "test_rating_latency.py::test_every_key_is_clocked_to_the_next_item",
    ],
    "2 double press, burst, held key": [
        "test_rating_keys.py::test_hurried_presses_are_one_answer",
        "test_rating_keys.py::test_held_key_is_one_answer",
        "test_rating_keys.py::test_server_alone_refuses_the_unseen",
    ],
    "3 typing in the note": ["test_rating_keys.py::test_typing_in_the_note_answers_nothing"],
    "4 no request to anybody else, with and without the policy": [
        "test_hostile.py::test_hostile_texts_do_nothing_even_without_the_policy",
        "test_hostile.py::test_hostile_texts_do_nothing_under_the_policy",
        "test_hostile.py::test_review_of_hostile_notes_and_names_does_nothing",
        "test_hostile.py::test_sheet_of_hostile_texts_does_nothing",
        "test_review.py::test_hostile_texts_stay_words",
    ],
    "5 the policy, and no complaint of it": [
        "test_served.py::test_headers_are_on_every_answer",
        "test_served.py::test_page_loads_under_the_policy_and_asks_nobody_else",
    ],
    "6 server restart": [
        "test_rating_end_to_end.py::test_press_after_a_restart_counts_for_what_is_on_the_screen"
    ],
    "7 two tabs": ["test_rating_keys.py::test_two_tabs_and_a_reload_lose_nothing"],
    "8 reload": ["test_rating_keys.py::test_two_tabs_and_a_reload_lose_nothing"],
    "9 by keyboard alone": [
        "test_rating_keys.py::test_tab_key_reaches_everything_and_is_seen",
        "test_rating_keys.py::test_focused_button_answers_and_keeps_the_focus",
    ],
    "10 names and a live region": [
        "test_rating_keys.py::test_everything_has_a_name",
        "test_rating_keys.py::test_each_item_is_announced",
    ],
    "11 sizes, no sideways scroll, the bar in view": [
        "test_rating_layout.py::test_bar_stays_in_view_and_nothing_is_wider_than_the_window",
        "test_review.py::test_every_page_fits_and_asks_for_nothing",
    ],
    "12 foreign origin, this machine only": [
        "test_served.py::test_web_socket_of_a_foreign_page_is_refused",
        "test_served.py::test_app_listens_on_this_machine_only",
    ],
    "13 ten at once": ["test_rating_crowd.py::test_every_press_of_a_crowd_is_stored_once"],
}


@cache
def functions(file: str) -> set[str]:
    """The names of the functions of a test file."""
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    return {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}


@pytest.mark.parametrize(
    ("listed", "folder", "count"),
    [(WITHOUT_A_BROWSER, "labeling_ui", 19), (IN_A_BROWSER, "browser", 13)],
    ids=["without a browser", "in a browser"],
)
def test_every_line_of_the_list_has_its_test(listed: dict[str, list[str]], folder: str, count: int) -> None:
    """No number is missing, and each test that is named exists."""
    assert [int(line.partition(" ")[0]) for line in listed] == list(range(1, count + 1))
    missing = []
    for name in (name for names in listed.values() for name in names):
        file, _, test = name.partition("::")
        where = file.removeprefix("/") if file.startswith("/") else f"{folder}/{file}"
        if test not in functions(where):
            missing.append(name)
    assert missing == []
