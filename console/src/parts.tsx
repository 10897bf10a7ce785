// Small parts that several pages use.

import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./lib/api";

export function Problem({ error, retry }: { error: Error; retry?: () => void }) {
  const forbidden = error instanceof ApiError && error.code === 403;
  return (
    <div class="alert" role="alert">
      <strong>{forbidden ? "You may not see this" : "That did not work"}</strong>
      <p>{error.message}</p>
      {retry && <button onClick={retry}>Try again</button>}
    </div>
  );
}

/** Text that a button copies. */
export function Copy({ text, label = "Copy" }: { text: string | (() => Promise<string>); label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(typeof text === "string" ? text : await text());
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return <button onClick={() => void copy()}>{done ? "Copied" : label}</button>;
}

export function Code({ text }: { text: string }) {
  return (
    <div class="code">
      <pre tabIndex={0}>{text}</pre>
      <Copy text={text} />
    </div>
  );
}

/** A line through values, without axes: the shape is what counts, the title says the rest. */
export function Sparkline({ values, label, width = 80, height = 20 }: { values: number[]; label: string; width?: number; height?: number }) {
  const most = Math.max(...values, 1e-9);
  const x = (i: number) => (values.length < 2 ? width : (i * width) / (values.length - 1));
  const y = (v: number) => height - 1 - (v / most) * (height - 3);
  const points = values.map((v, i) => `${x(i).toFixed(1)},${y(v).toFixed(1)}`).join(" ");
  return (
    <svg class="spark" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      {values.length > 1 && <polygon points={`0,${height} ${points} ${width},${height}`} />}
      {values.length > 1 && <polyline points={points} />}
    </svg>
  );
}

/** The rows in sight of a scrolled box, and some around them; all rows are equally high. */
export function useWindow(box: RefObject<HTMLElement | null>, row: number, total: number, around: number): { first: number; last: number } {
  const [view, setView] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const see = () => setView({ top: element.scrollTop, height: element.clientHeight });
    see();
    element.addEventListener("scroll", see, { passive: true });
    const observer = new ResizeObserver(see);
    observer.observe(element);
    return () => {
      element.removeEventListener("scroll", see);
      observer.disconnect();
    };
  }, []);
  return {
    first: Math.max(0, Math.floor(view.top / row) - around),
    last: Math.min(total, Math.ceil((view.top + view.height) / row) + around),
  };
}

export function Bar({ share, label }: { share: number; label: string }) {
  const percent = Math.min(100, share * 100);
  const level = share > 1 ? "over" : share > 0.5 ? "high" : "fine";
  return (
    <span class="bar" data-level={level} role="img" aria-label={label} title={label}>
      <span style={{ width: `${Math.max(percent, 1)}%` }} />
    </span>
  );
}

export function Tabs({ tabs, current, hrefs, label }: { tabs: [id: string, label: ComponentChildren][]; current: string; hrefs: (id: string) => string; label: string }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(([id, text]) => (
        <a key={id} href={hrefs(id)} aria-current={id === current ? "page" : undefined}>{text}</a>
      ))}
    </nav>
  );
}

export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={close} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}
