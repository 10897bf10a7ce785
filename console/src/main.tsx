// The frame of the console: navigation, signing in, the page of the current route.

import { render, type ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import "./style.css";
import { AppContext, type App as AppState } from "./context";
import { ApiError, discover, session as getSession, signIn, signOut, whenSignedOut, type Resource, type Session } from "./lib/api";
import { Engine } from "./lib/engine";
import { moveFocus, shortcuts, useShortcuts } from "./lib/keys";
import { go, link, useRoute } from "./lib/router";
import { ApisPage } from "./pages/apis";
import { ObjectPage } from "./pages/object";
import { ObjectsPage } from "./pages/objects";
import { PlaygroundPage } from "./pages/playground";
import { SchemaPage } from "./pages/schema";
import { ServerPage } from "./pages/server";
import { Problem } from "./parts";

type State = { kind: "loading" } | { kind: "signed-out"; why: string } | { kind: "in"; session: Session };

function Root() {
  const [state, setState] = useState<State>({ kind: "loading" });
  const route = useRoute();
  const code = route.parts[0] === "sign-in" ? route.parts[1] : undefined;
  useEffect(() => {
    whenSignedOut(() => setState((old) => (old.kind === "in" ? { kind: "signed-out", why: "The session has ended." } : old)));
    // The code is good once: it must not stay in the history.
    if (code) go("#/", true);
    const begin = code ? signIn({ code }) : getSession();
    begin.then(
      (session) => setState({ kind: "in", session }),
      (error: unknown) => {
        const expired = code ? "This link was used before, or is older than ten minutes." : "";
        const is401 = error instanceof ApiError && error.code === 401;
        setState({ kind: "signed-out", why: is401 ? expired : String((error as Error).message) });
      },
    );
  }, []);
  if (state.kind === "loading") return <p class="quiet pad">Loading…</p>;
  if (state.kind === "signed-out") return <SignIn why={state.why} done={(session) => setState({ kind: "in", session })} />;
  return <Signed session={state.session} leave={() => setState({ kind: "signed-out", why: "" })} />;
}

function SignIn({ why, done }: { why: string; done: (session: Session) => void }) {
  const [token, setToken] = useState("");
  const [error, setError] = useState(why);
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      done(await signIn({ token }));
    } catch (failed) {
      setError(failed instanceof ApiError && failed.code === 401 ? "The token is not valid." : String((failed as Error).message));
    }
  };
  return (
    <main class="sign-in">
      <h1>Pleach</h1>
      {error && <p role="alert" class="alert">{error}</p>}
      <form onSubmit={(event) => void submit(event)}>
        <label for="token">Bearer token</label>
        <input id="token" type="password" autocomplete="off" spellcheck={false} value={token} onInput={(e) => setToken(e.currentTarget.value)} />
        <button class="primary" disabled={!token.trim()}>Sign in</button>
      </form>
      <p class="quiet">
        <code>pleach serve</code> and <code>pleach console</code> print a link on their terminals that signs in once. For
        another link of a server:
      </p>
      <pre tabIndex={0}>kubectl create --raw /console/links -f /dev/null</pre>
    </main>
  );
}

const NAV: [label: string, hash: string, keys: string][] = [
  ["APIs", "#/", "ga"],
  ["Playground", "#/playground", "gp"],
  ["Server", "#/server", "gs"],
];

function Signed({ session, leave }: { session: Session; leave: () => void }) {
  const [resources, setResources] = useState<Resource[] | null>(null);
  const [problem, setProblem] = useState<Error>();
  const [note, setNote] = useState<{ message: string; kind: "error" | "done" } | null>(null);
  const [help, setHelp] = useState(false);
  const timer = useRef(0);
  const engine = useMemo(() => new Engine(session), [session]);
  const refresh = async () => {
    try {
      setResources(await discover());
      setProblem(undefined);
    } catch (error) {
      setProblem(error as Error);
    }
  };
  useEffect(() => void refresh(), []);
  const notify: AppState["notify"] = (message, kind = "done") => {
    setNote({ message, kind });
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setNote(null), kind === "error" ? 12_000 : 4_000);
  };
  useShortcuts([
    ...NAV.map(([label, hash, keys]) => ({ keys, does: `Go to ${label}`, run: () => go(hash) })),
    { keys: "/", does: "Search or filter", run: () => document.querySelector<HTMLElement>("[data-search]")?.focus() },
    { keys: "j", does: "Next row", run: () => moveFocus("[data-row]", 1) },
    { keys: "k", does: "Previous row", run: () => moveFocus("[data-row]", -1) },
    { keys: "?", does: "This list", run: () => setHelp(true) },
  ]);
  const route = useRoute();
  const section = route.parts[0] ?? "";
  const current = section === "playground" ? "#/playground" : section === "server" ? "#/server" : "#/";
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => (e.preventDefault(), document.getElementById("main")?.focus())}>Skip to the page</a>
      <header class="top">
        <a class="brand" href="#/"><img src="./assets/icon.svg" alt="" width="20" height="20" />Pleach</a>
        <nav aria-label="Pages">
          {NAV.map(([label, hash]) => (
            <a key={hash} href={hash} aria-current={hash === current ? "page" : undefined}>{label}</a>
          ))}
        </nav>
        <span class="who">
          {session.cluster && <span class="tag" title="The API server that this console shows">{session.cluster}</span>}
          {session.readOnly && <span class="tag">read-only</span>}
          <span title={session.groups.join(", ")}>{session.user}</span>
          <button class="plain" onClick={() => setHelp(true)} aria-label="Keys">?</button>
          <button class="plain" onClick={() => void signOut().finally(leave)}>Sign out</button>
        </span>
      </header>
      <main id="main" tabIndex={-1}>
        {problem && !resources && <Problem error={problem} retry={() => void refresh()} />}
        {resources && (
          <AppContext.Provider value={{ session, engine, resources, refresh, notify }}>
            <Page parts={route.parts} query={route.query} />
          </AppContext.Provider>
        )}
      </main>
      <div class="note" role="status" aria-live="polite" data-kind={note?.kind}>{note?.message}</div>
      {help && <Help close={() => setHelp(false)} />}
    </>
  );
}

function Page({ parts, query }: { parts: string[]; query: URLSearchParams }) {
  const [section, ...rest] = parts;
  const name = useMemo(() => ({ section, rest }), [parts.join("/")]);
  useEffect(() => {
    const what = name.section === undefined ? "APIs" : (name.rest.at(-1) ?? name.section);
    document.title = name.section === "playground" ? "Playground – Pleach" : `${what} – Pleach`;
  }, [name]);
  const core = (group: string | undefined) => (group === "core" ? "" : (group ?? ""));
  switch (section) {
    case undefined:
    case "sign-in":
      return <ApisPage />;
    case "schema":
      return <SchemaPage key={rest[0]} crd={rest[0] ?? ""} version={rest[1] ?? ""} query={query} />;
    case "objects":
      return <ObjectsPage key={rest.join("/")} group={core(rest[0])} version={rest[1] ?? ""} plural={rest[2] ?? ""} query={query} />;
    case "object":
      return (
        <ObjectPage
          key={rest.join("/")}
          group={core(rest[0])}
          version={rest[1] ?? ""}
          plural={rest[2] ?? ""}
          namespace={rest[3] === "-" ? "" : (rest[3] ?? "")}
          name={rest[4] ?? ""}
          tab={query.get("tab") ?? "yaml"}
        />
      );
    case "playground":
      return <PlaygroundPage state={rest[0] ?? ""} />;
    case "server":
      return <ServerPage />;
    default:
      return (
        <section class="pad">
          <h1>No such page</h1>
          <p><a href={link([])}>All APIs</a></p>
        </section>
      );
  }
}

function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="help-title">
      <h2 id="help-title">Keys</h2>
      <table class="keys">
        <tbody>
          {shortcuts().map(({ keys, does }) => (
            <tr key={keys}>
              <th scope="row">{[...keys].map((k): ComponentChildren => <kbd key={k}>{k}</kbd>)}</th>
              <td>{does}</td>
            </tr>
          ))}
          <tr><th scope="row"><kbd>Enter</kbd></th><td>Open the row</td></tr>
          <tr><th scope="row"><kbd>Esc</kbd></th><td>Leave a field, close a dialog</td></tr>
        </tbody>
      </table>
      <form method="dialog"><button class="primary" autofocus>Close</button></form>
    </dialog>
  );
}

const root = document.getElementById("app");
if (root) render(<Root />, root);
