// What Streamlit's shortcuts cannot do: focus and leave the note, fold, help, quote, and hold back a press
// that was meant for the screen before. State outlives reruns on the window; listeners are set once.
const state = (window.voirdireKeys ??= {
  token: null, run: null, item: null, openAt: Infinity, locked: true, lockedAt: 0, folded: null,
  guarded: [], note: "", sentences: [], at: -1, wanted: "",
});

const editable = (event) => {
  const target = event.composedPath?.()[0] ?? event.target;
  return Boolean(target?.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable=true]"));
};
const noteField = () => state.note && document.querySelector(`.st-key-${CSS.escape(state.note)} :is(textarea, input)`);
const dock = () => document.querySelector("[data-testid=stBottom]");
const helpCard = () => document.querySelector("#vd-help");
const helpOpen = () => Boolean(helpCard()) && !helpCard().hidden;
const stop = (event) => { event.preventDefault(); event.stopImmediatePropagation(); };

// -- presses that are too early, repeated by a held key, or doubled

const NAMES = { ArrowLeft: "left", ArrowRight: "right", Enter: "enter" };
const QUIET_MS = 120;
const LOCK_MS = 4000; // an answer that never came; the server still refuses what it must

function admitted() {
  const now = performance.now();
  if (state.locked && now - state.lockedAt > LOCK_MS) state.locked = false;
  if (state.locked || now < state.openAt) {
    state.openAt = Math.max(state.openAt, now + QUIET_MS);
    return false;
  }
  state.locked = true;
  state.lockedAt = now;
  return true;
}

function onKeyDown(event) {
  if (event.isComposing) return;
  const typing = editable(event);
  if (event.key === "Escape") return onEscape(event, typing);
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = NAMES[event.key] ?? event.key.toLowerCase();
  if (helpOpen() && key !== "h") { // the list lies over what the keys would answer
    if (state.guarded.includes(key) || ACTIONS[key]) { stop(event); say("Close the list first: H or Esc."); }
    return;
  }
  if (state.guarded.includes(key)) {
    const focused = event.target.closest?.("button, a, summary");
    if (key === "enter" && focused) event.stopImmediatePropagation(); // it presses what has the focus
    else if (event.repeat || !admitted()) stop(event);
    return;
  }
  const action = ACTIONS[key];
  if (!action || document.querySelector("[role=dialog]:not(#vd-help)")) return;
  stop(event);
  if (!event.repeat || key === "s") action(event);
}

function onEscape(event, typing) {
  if (helpOpen()) { stop(event); showHelp(false); return; }
  if (!typing) {
    if (state.guarded.includes("escape") && (event.repeat || !admitted())) stop(event);
    return;
  }
  stop(event);
  (event.composedPath?.()[0] ?? event.target).blur();
}

function onClick(event) {
  const button = event.target.closest?.("button");
  if (!button || !dock()?.contains(button)) return;
  if (helpOpen()) { stop(event); showHelp(false); return; }
  if (!admitted()) { stop(event); return; }
  const own = button.closest("[class*=st-key-]");
  state.wanted = own && document.activeElement === button ? buttonName(own) : "";
}

// -- note, fold, help

function focusNote() {
  const field = noteField();
  if (!field) return;
  field.focus();
  field.setSelectionRange(field.value.length, field.value.length);
}

const details = () => document.querySelectorAll("[data-testid=stMain] details.vd-field");
function applyFold() {
  if (state.folded === null) return; // as the page shows it
  document.documentElement.toggleAttribute("data-vd-folded", state.folded);
  details().forEach((each) => {
    each.dataset.vdOpen ??= String(each.open);
    each.open = !state.folded;
  });
}
// each item begins as its page shows it: evidence that nobody folded is not to be missed
function unfold() {
  state.folded = null;
  document.documentElement.removeAttribute("data-vd-folded");
  details().forEach((each) => {
    if (each.dataset.vdOpen) each.open = each.dataset.vdOpen === "true";
    delete each.dataset.vdOpen;
  });
}
function toggleFold() {
  state.folded = !state.folded;
  applyFold();
  say(state.folded ? "Evidence folded." : "Evidence shown.");
}

function showHelp(on) {
  const card = helpCard();
  if (!card) return;
  card.hidden = !on;
  if (on) { state.before = document.activeElement; card.focus(); } else state.before?.focus?.();
}

// -- sentences of the item: S goes to the next one, Shift+S back, M copies it into the note

const JUDGED = "[data-testid=stMain] .vd-candidate :is(.vd-txt, .vd-code, td)";
function collectSentences() {
  const cut = new Intl.Segmenter(document.documentElement.lang || "en", { granularity: "sentence" });
  return [...document.querySelectorAll(JUDGED)].flatMap((text) =>
    [...cut.segment(text.textContent)]
      .filter((each) => each.segment.trim())
      .map((each) => rangeOf(text, each.index, each.index + each.segment.trimEnd().length)));
}

function rangeOf(root, start, end) {
  const range = document.createRange();
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let seen = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const next = seen + node.length;
    if (start >= seen && start <= next) range.setStart(node, start - seen);
    if (end >= seen && end <= next) { range.setEnd(node, end - seen); break; }
    seen = next;
  }
  return range;
}

function mark(range) {
  if (!window.CSS?.highlights) return;
  if (range) CSS.highlights.set("vd-sentence", new Highlight(range));
  else CSS.highlights.delete("vd-sentence");
}

function goSentence(event) {
  if (!state.sentences.length) state.sentences = collectSentences();
  const count = state.sentences.length;
  if (!count) return;
  state.at = event.shiftKey ? Math.max(state.at - 1, 0) : Math.min(state.at + 1, count - 1);
  const range = state.sentences[state.at];
  mark(range);
  range.startContainer.parentElement?.scrollIntoView({ block: "nearest" });
  say(range.toString());
}

// a chip stands for the characters that it names
function plain(range) {
  const piece = range.cloneContents();
  piece.querySelectorAll(".vd-uc").forEach((chip) => {
    const found = /^U\+([0-9A-F]+)(?: \u00d7 ([\d,]+))?$/.exec(chip.textContent);
    const count = Math.min(Number((found?.[2] ?? "1").replace(",", "")), 200);
    chip.replaceWith(found ? String.fromCodePoint(parseInt(found[1], 16)).repeat(count) : "");
  });
  return piece.textContent;
}

function quote() {
  const chosen = window.getSelection();
  const inItem = chosen?.rangeCount && !chosen.isCollapsed
    && chosen.anchorNode?.parentElement?.closest(".vd-field");
  const range = inItem ? chosen.getRangeAt(0) : state.sentences[state.at];
  const field = noteField();
  if (!range || !field) return;
  const words = plain(range).trim();
  if (!words) return;
  const value = `${field.value}${field.value ? " " : ""}\u201c${words}\u201d`;
  Object.getOwnPropertyDescriptor(field.constructor.prototype, "value").set.call(field, value);
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.dispatchEvent(new FocusEvent("focusout", { bubbles: true })); // what is typed is sent when it is left
  field.scrollTop = field.scrollHeight;
  say("Copied into the note.");
}

const ACTIONS = {
  n: focusNote, e: toggleFold, h: () => showHelp(helpCard()?.hidden), s: goSentence, m: quote,
};

// -- what a screen reader hears

let region = null;
function say(words) { if (region && region.textContent !== words) region.textContent = words; }

// -- each rerun

function buttonName(element) {
  const key = [...element.classList].find((each) => each.startsWith("st-key-"));
  return key?.slice("st-key-".length).split("-")[0] ?? "";
}

// the button that was pressed is gone; its like on the new screen may come a few frames later
function refocus(token, tries = 90) {
  const now = document.activeElement;
  if (!state.wanted || state.token !== token || !tries) return;
  if (now !== document.body && !dock()?.contains(now)) return; // the person has gone elsewhere
  const own = `[class*="st-key-${state.wanted}-${token.split("/")[0]}"] button:enabled`;
  const button = document.querySelector(own);
  if (button && button !== now) button.focus();
  if (!button || document.activeElement !== button) requestAnimationFrame(() => refocus(token, tries - 1));
}

// the card beside a long item ends where the bar begins
function measure() {
  const height = dock()?.getBoundingClientRect().height;
  if (height) document.documentElement.style.setProperty("--vd-dock", `${Math.round(height)}px`);
}

// a task that is queued within a frame runs once the frame is painted
function painted(then) {
  requestAnimationFrame(() => {
    const after = new MessageChannel();
    after.port1.onmessage = then;
    after.port2.postMessage(null);
  });
}

function renewed(data) {
  const otherItem = data.item !== state.item;
  Object.assign(state, { token: data.token, item: data.item, openAt: Infinity, sentences: [], at: -1 });
  mark(null);
  if (otherItem) {
    unfold();
    document.querySelector("[data-testid=stMain]")?.scrollTo({ top: 0 });
  }
  say(data.say);
  painted(() => {
    if (state.token !== data.token) return;
    measure();
    applyFold();
    refocus(data.token);
    if (data.focus) focusNote();
    state.openAt = performance.now() + (otherItem || data.fresh ? data.earliest : QUIET_MS);
    document.documentElement.dataset.vdReady = data.token;
  });
}

export default function (component) {
  const { data: [data], parentElement } = component;
  region = parentElement.querySelector("[role=status]");
  state.guarded = data.guarded;
  state.note = data.note;
  if (!window.voirdireKeysBound) {
    window.voirdireKeysBound = true;
    window.addEventListener("keydown", (event) => state.onKeyDown(event), true);
    window.addEventListener("click", (event) => state.onClick(event), true);
    window.addEventListener("resize", () => state.measure());
  }
  Object.assign(state, { onKeyDown, onClick, measure });
  if (data.run !== state.run) { state.run = data.run; state.locked = false; }
  if (data.token !== state.token) renewed(data);
}
