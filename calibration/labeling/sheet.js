"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.getElementById("sheet");
  const tasks = data.items.flatMap((item, place) =>
    item.criteria.map((key) => ({ item, place, criterion: data.criteria.find((each) => each.key === key) })));
  // an answer belongs to its assignment and criterion, whichever sheet of the session they stand on
  const shelf = (task) => ["voirdire", data.session, data.rater, task.item.assignment, task.criterion.key].join("\n");
  const said = tasks.map((task) => restore(shelf(task), task));
  const drafts = tasks.map((task) => read(shelf(task) + "\nnote") || "");
  let at = said.findIndex((each) => !each);
  if (at < 0) at = tasks.length;
  let half = null;
  let shownAt = new Date();
  let draft = "";

  function read(key) {
    try { return localStorage.getItem(key); } catch { return null; /* a file opened without storage */ }
  }
  function restore(key, task) {
    try {
      const found = JSON.parse(read(key));
      // handed out anew since: the number of the newer sheet is the one that counts
      return found ? { ...found, lease_no: task.item.lease_no } : null;
    } catch { return null; }
  }
  function write(key, text) {
    try {
      if (text) localStorage.setItem(key, text); else localStorage.removeItem(key);
    } catch { /* a file opened without storage */ }
  }
  function keep(place) {
    write(shelf(tasks[place]), said[place] ? JSON.stringify(said[place]) : "");
  }
  function keepNote() {
    if (at === tasks.length) return;
    if (said[at]) { said[at].note = draft; keep(at); } else { drafts[at] = draft; write(shelf(tasks[at]) + "\nnote", draft); }
  }
  function make(tag, text, name) {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    if (name) made.className = name;
    return made;
  }
  function field(each) {
    const box = make("section", "", each.source);
    const title = make("h2", each.title + " ", "eyebrow");
    title.append(make("span", each.source === "candidate" ? "to judge: untrusted text" : each.source, "src"));
    const text = make("div", "", "txt");
    text.dir = "auto";
    for (const [kind, piece] of each.text) text.append(kind === "text" ? piece : make("span", piece, "unseen"));
    if (!each.text.length) text.append("(empty)");
    box.append(title, text);
    return box;
  }
  function eyebrow(criterion) {
    const place = data.criteria.indexOf(criterion) + 1;
    const line = make("p", "Criterion " + place + " of " + data.criteria.length + " · ", "eyebrow");
    line.append(make("span", data.rubric.ref, "ref"));
    return line;
  }
  function card(criterion) {
    const box = make("aside");
    const list = make("dl");
    if (asksMode()) {
      box.append(make("p", "Ways to fail", "eyebrow"), make("h1", criterion.title));
      for (const mode of criterion.failure_modes) {
        if (mode.when) list.append(make("dt", mode.says), make("dd", mode.when));
      }
    } else {
      box.append(eyebrow(criterion), make("h1", criterion.title), make("p", criterion.question));
      for (const [title, text] of [...criterion.levels, ...criterion.guidance]) {
        list.append(make("dt", title), make("dd", text));
      }
    }
    const note = make("textarea");
    note.id = "note";
    note.setAttribute("aria-label", "Note, optional");
    note.placeholder = "Note, optional: which words decided it? (N to write, Esc to leave)";
    note.value = draft;
    note.addEventListener("input", () => { draft = note.value; keepNote(); });
    box.append(list, note);
    return box;
  }
  function asksMode() {
    return half !== null && half !== "unknown";
  }
  function choices() {
    const { criterion } = tasks[at];
    const back = ["Back", () => { half = null; draw(); }, "Escape"];
    if (half === "unknown") {
      return [...data.reasons.map((each) => [each.says, () => record("unknown", each.value, null), each.press]), back];
    }
    if (half !== null) {
      const named = criterion.failure_modes.map((mode) =>
        [mode.says, () => record(half, null, mode.value || null), mode.press]);
      return [...named, back];
    }
    const answer = (value) => () => {
      const more = value === "unknown" || (criterion.failing.includes(value) && criterion.failure_modes.length);
      if (more) { half = value; draw(); } else record(value, null, null);
    };
    return criterion.answers.map((each) => [each.says, answer(each.value), each.press]);
  }
  function record(value, reason, failureMode) {
    const now = new Date();
    if (now - shownAt < 250) return;
    said[at] = {
      assignment: tasks[at].item.assignment, lease_no: tasks[at].item.lease_no,
      criterion: tasks[at].criterion.key, value, reason, failure_mode: failureMode,
      note: draft,
      shown_at: shownAt.toISOString(), decided_at: now.toISOString(),
    };
    keep(at);
    drafts[at] = "";
    write(shelf(tasks[at]) + "\nnote", "");
    half = null;
    go(at + 1);
  }
  function go(place) {
    at = Math.min(Math.max(place, 0), tasks.length);
    half = null;
    shownAt = new Date();
    draft = said[at] ? said[at].note : drafts[at] || "";
    draw();
  }
  function undo() {
    if (at === 0) return;
    const note = said[at - 1] ? said[at - 1].note : "";
    said[at - 1] = null;
    keep(at - 1);
    drafts[at - 1] = note;
    write(shelf(tasks[at - 1]) + "\nnote", note);
    go(at - 1);
  }
  function lines() {
    const header = { schema: data.schema, session: data.session, rater: data.rater, rubric: data.rubric.digest };
    const given = said.filter(Boolean);
    return [header, ...given].map((each) => JSON.stringify(each)).join("\n") + "\n";
  }
  function save() {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([lines()], { type: "application/jsonl" }));
    link.download = "sheet-" + data.said.session + "-" + data.said.rater + ".jsonl";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  function dock(buttons, hint, ask) {
    const bar = make("div", "", "dock");
    const inside = make("div", "", "wrap");
    if (ask) inside.append(make("p", ask, "ask"));
    const row = make("div", "", "row");
    for (const [label, act, key] of buttons) {
      const button = make("button", label);
      button.type = "button";
      if (key) {
        button.append(make("kbd", key === "Escape" ? "Esc" : key.toUpperCase()));
        button.dataset.key = key.toLowerCase();
      }
      button.addEventListener("click", act);
      row.append(button);
    }
    inside.append(row, make("p", hint, "hint"));
    bar.append(inside);
    return bar;
  }
  function draw() {
    const wrap = make("div", "", "wrap");
    const done = said.filter(Boolean).length;
    const prog = make("p", "", "prog");
    prog.append(make("span", data.said.session + " · " + data.said.rater), make("span", done + " of " + tasks.length + " answered"));
    prog.setAttribute("role", "status");
    wrap.append(prog);
    if (at === tasks.length) {
      wrap.append(make("h1", "That was the last one."),
        make("p", "Save your answers and send the file to whoever leads the session. Answers stay in this browser until then."));
      root.replaceChildren(wrap, dock([["Save answers", save, "1"]], "U or ← goes back to the last item."));
      return;
    }
    const cols = make("div", "", "cols");
    const left = make("div");
    left.append(...tasks[at].item.fields.map(field));
    cols.append(left, card(tasks[at].criterion));
    wrap.append(cols);
    const hint = "U undo · ← previous · → next · N note · Esc leave note · S save answers so far";
    const ask = half === null ? "" : half === "unknown" ? "Why can it not be decided?" : "In which way does it fail?";
    root.replaceChildren(wrap, dock(choices(), half === null ? hint : "Esc goes back", ask));
  }
  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    const note = document.getElementById("note");
    if (document.activeElement === note) {
      if (event.key === "Escape") note.blur();
      return;
    }
    const pressed = event.key.toLowerCase();
    const button = [...document.querySelectorAll(".dock button")].find((each) => each.dataset.key === pressed);
    const moves = { u: undo, U: undo, ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1), s: save, S: save };
    if (button) button.click();
    else if ((event.key === "n" || event.key === "N") && note) { event.preventDefault(); note.focus(); }
    else if (moves[event.key]) moves[event.key]();
  });
  go(at);
})();
