// CodeMirror with YAML. It lives in a shadow root: there its styles are constructed style sheets, which the content
// security policy allows, where a style element in the page would not be.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";
import type { Finding } from "./lib/engine";

const colors = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--key)" },
  { tag: tags.definition(tags.propertyName), color: "var(--key)" },
  { tag: [tags.string, tags.content], color: "var(--text)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--number)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
  { tag: [tags.meta, tags.separator, tags.punctuation], color: "var(--quiet)" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "0.8125rem", backgroundColor: "var(--surface)", color: "var(--text)" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--quiet)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection) !important" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--line)", maxWidth: "36rem" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)" },
  ".cm-panels input, .cm-panels button": { font: "inherit" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap", fontFamily: "var(--sans)" },
});

/** Findings of the engine as CodeMirror shows them. */
export function diagnostics(findings: Finding[], length: number): Diagnostic[] {
  return findings.map((finding): Diagnostic => {
    const from = Math.min(finding.from ?? 0, length);
    const to = Math.min(Math.max(finding.to ?? from, from), length);
    const severity = finding.level === "note" ? "info" : finding.level;
    return { from, to, severity, message: [finding.message, ...finding.help].join("\n") };
  });
}

export function Editor({ value, change, findings, label, readOnly }: {
  value: string;
  change?: (text: string) => void;
  findings?: Finding[];
  label: string;
  readOnly?: boolean;
}) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(change);
  latest.current = change;
  useEffect(() => {
    if (!host.current) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    const extensions: Extension[] = [
      lineNumbers(),
      foldGutter(),
      history(),
      drawSelection(),
      indentOnInput(),
      bracketMatching(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      highlightSelectionMatches(),
      search({ top: true }),
      lintGutter(),
      yaml(),
      syntaxHighlighting(colors),
      theme,
      EditorState.readOnly.of(readOnly ?? false),
      EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
      // Escape and then Tab leaves the editor.
      keymap.of([...defaultKeymap, ...historyKeymap, ...foldKeymap, ...searchKeymap, ...lintKeymap, ...(readOnly ? [] : [indentWithTab])]),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) latest.current?.(update.state.doc.toString());
      }),
    ];
    const made = new EditorView({ state: EditorState.create({ doc: value, extensions }), parent: root, root });
    view.current = made;
    return () => made.destroy();
  }, []);
  useEffect(() => {
    const current = view.current;
    if (current && current.state.doc.toString() !== value) {
      current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: value } });
    }
  }, [value]);
  useEffect(() => {
    const current = view.current;
    if (current) current.dispatch(setDiagnostics(current.state, diagnostics(findings ?? [], current.state.doc.length)));
  }, [findings]);
  return <div class="editor" ref={host} />;
}
