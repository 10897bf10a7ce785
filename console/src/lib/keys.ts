// Keys: a page says which it takes; `?` lists them.

import { useEffect } from "preact/hooks";

export interface Shortcut {
  keys: string;
  does: string;
  run: () => void;
}

const active = new Set<Shortcut[]>();

export function shortcuts(): Shortcut[] {
  return [...active].flat();
}

function isTyping(target: EventTarget | null): boolean {
  const element = target instanceof Element ? target : null;
  const inner = element?.shadowRoot?.activeElement ?? element;
  return inner instanceof HTMLElement && (inner.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(inner.tagName));
}

let pending = "";
let pendingTimer = 0;

window.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const typing = isTyping(event.target);
  if (typing && event.key !== "Escape") return;
  if (typing) {
    (document.activeElement as HTMLElement | null)?.blur();
    return;
  }
  if (document.querySelector("dialog[open]")) return;
  const pressed = pending + event.key;
  const all = shortcuts();
  const found = all.findLast((s) => s.keys === pressed) ?? all.findLast((s) => s.keys === event.key);
  window.clearTimeout(pendingTimer);
  pending = "";
  if (found) {
    event.preventDefault();
    found.run();
  } else if (all.some((s) => s.keys.length > 1 && s.keys.startsWith(event.key) && !/^[A-Z]\w/.test(s.keys))) {
    pending = event.key;
    pendingTimer = window.setTimeout(() => (pending = ""), 800);
  }
});

export function useShortcuts(list: Shortcut[], inputs: unknown[] = []): void {
  useEffect(() => {
    active.add(list);
    return () => void active.delete(list);
  }, inputs);
}

/** Moves the focus among elements: j and k. */
export function moveFocus(selector: string, by: 1 | -1): void {
  const all = [...document.querySelectorAll<HTMLElement>(selector)].filter((e) => e.offsetParent !== null);
  const at = all.indexOf(document.activeElement as HTMLElement);
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}
