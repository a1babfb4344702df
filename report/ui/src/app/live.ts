import type { Live } from "./page";

/** listen opens the server's stream of events about a run (the one that is written, or the latest, without one). The browser connects again by itself. */
export function listen(lost: (gone: boolean) => void): Live & { follow: (run: string | undefined) => void } {
  let source: EventSource | null = null;
  let following: string | undefined | null = null;
  const listeners = new Map<string, Set<(data: unknown) => void>>();
  const latest = new Map<string, unknown>();
  const names = ["state", "runs", "progress", "study"] as const;
  return {
    follow: (run) => {
      if (run === following) return;
      following = run;
      source?.close();
      latest.delete("progress");
      source = new EventSource("/api/events" + (run === undefined ? "" : `?run=${encodeURIComponent(run)}`));
      source.addEventListener("open", () => lost(false));
      source.addEventListener("error", () => lost(true));
      for (const name of names) {
        source.addEventListener(name, (event) => {
          const data: unknown = JSON.parse((event as MessageEvent<string>).data);
          if (name === "state" || name === "progress") latest.set(name, data);
          for (const run of listeners.get(name) ?? []) run(data);
        });
      }
    },
    on: (event, run, signal) => {
      const all = listeners.get(event) ?? new Set();
      listeners.set(event, all.add(run));
      signal.addEventListener("abort", () => all.delete(run));
      if (latest.has(event)) run(latest.get(event));
    },
  };
}
