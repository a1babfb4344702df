// What the server of `wiretime ui` answers (package ui; docs/ui.md): the two change together. Times are ms unless their names say otherwise.

import { withSummaries, type Data, type Fact, type Flow, type FlowEvent } from "../data";

export interface State {
  version: string;
  store: string;
  studies: string; // the folder of study files
  problem?: string; // why the store cannot be read
  running?: Running;
  resumable?: { run: number; study: string; done: number; planned: number };
  last?: { code: number; said: string; study: string }; // how the last process that this server started ended
}

export interface Running {
  pid: number;
  own: boolean; // this server started it
  stopping: boolean;
  run?: number;
  study?: string;
  said?: string;
}

/** RunLine is a run in the store's list. */
export interface RunLine {
  id: number;
  study: string;
  title?: string;
  started: string;
  finished?: string;
  planned: number;
  done: number;
  quick?: boolean;
  version: string;
  clock: string;
  state: "finished" | "running" | "interrupted";
}

export interface Violation {
  rule: number;
  title?: string;
  detail: string;
}

/** Attempt is what a report leaves out about a load. */
export interface Attempt {
  started: string;
  wall: number;
  violations?: { rule: number; detail: string }[];
  hasFiles: boolean;
  wasDropped: boolean;
}

/** CellPage is a cell with its loads: the only cell of a report's data. */
export interface CellPage extends Data {
  number: number; // the cell's, in the run
  axes: Fact[];
  attempts: Attempt[]; // parallel to loads
  missing?: string; // why the median load's files could not be read
}

/** LoadPage is a load: the only one in the only cell of a report's data. */
export interface LoadPage extends Data {
  load: Attempt & {
    id: string;
    number: number; // its cell's, in the run
    axes: Fact[];
    index: number;
    seed: string;
    pages?: { url: string; started: number; dcl: number; onload: number; plt: number }[];
    programs?: Fact[];
    files: { name: string; octets: number; url: string }[];
    dropped?: string; // how the dropped files come back
    missing?: string; // why there is no waterfall, or no packets
    previous?: string;
    next?: string;
  };
  path?: PagePath[];
  packets?: Traffic;
}

/** PagePath is the critical path of a page. Steps: from and to in us since the page's navigation start; a kind of Data.kinds; phase and URL, which are words; 1 if packets show it. */
export interface PagePath {
  page: string;
  onLoad: number; // ns
  late: number; // ns
  verdict: string;
  steps: [from: number, to: number, kind: number, phase: number, url: number, seen: number][];
}

/** Traffic shows a load's packets over time (report/packets.go). */
export interface Traffic {
  connections: string[];
  fates: string[]; // fates[0] is "delivered"
  marks: [at: number, down: number, octets: number, fate: number, again: number, connection: number][];
  more: number; // marks left out
  from: number;
  rate: { step: number; up: number[]; down: number[] }; // octets that arrived in each step, the first of which begins at from
  total: [up: number, down: number]; // packets that arrived
}

export interface Connections {
  reasons: string[];
  connections: { name: string; protocol?: string; opened: number; unseen?: string[]; flows: Omit<Flow, "events">[]; events: FlowEvent[]; more: number }[];
}

/** Difference says what the difference of two onLoads comes from (package difference). All times are ns; those of differences are the second load's less the first's. */
export interface Difference {
  sentence?: string;
  a: { onLoad: number };
  b: { onLoad: number };
  onLoad: { ns: number };
  causes: { cause: string; ns: number; a: number; b: number; parts?: { part: string; ns: number }[]; places?: { url: string; ns: number }[] }[];
  resources: { url: string; ns: number; a: number; b: number; causes: { cause: string; ns: number }[] }[];
}

export interface Progress {
  run: number;
  done: number;
  planned: number;
  valid: number;
  invalid: number;
  failed: number;
  unsupported: number;
  pending: number;
  attempts: number;
  left?: number;
  since?: string; // when the process that writes began
  last: { id: string; cell: number; label: string; site: string; network: string; validity: string; reason?: string; metric?: string; value?: number; late?: number; ended: string }[];
  late: { worst: number; loads: number };
  workers: { name: string; host?: string; loads: number }[]; // of a campaign
}

export interface Studies {
  folder: string;
  builtin: { name: string; title?: string; description?: string }[];
  files: { name: string; modified: string; octets: number }[];
}

/** StudyText is a study's text; tag is of a file, and names its content. */
export interface StudyText {
  name: string;
  text: string;
  tag?: string;
}

export interface Checked {
  errors: Mistake[];
  plan?: { name: string; title: string; cells: number; loads: number; quickCells: number; quickLoads: number; clocks: string[]; commands?: string[] };
}

/** Mistake: line and column count from 1, the column in characters; the line is 0 if it is not at one place. */
export interface Mistake {
  line: number;
  column: number;
  message: string;
}

/** Failure says why there is no answer. */
export class Failure extends Error {
  constructor(readonly status: number, message: string, readonly body: unknown = undefined) {
    super(message);
  }
}

/** ask sends a request and returns the answer's JSON. */
export async function ask<T>(path: string, options: { method?: string; body?: unknown; signal?: AbortSignal | undefined } = {}): Promise<T> {
  const init: RequestInit = { method: options.method ?? "GET", credentials: "same-origin" };
  if (options.signal !== undefined) init.signal = options.signal;
  if (options.body !== undefined) {
    init.body = JSON.stringify(options.body);
    init.headers = { "Content-Type": "application/json" };
  }
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(path, init);
    text = await answer.text();
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Failure(0, "There is no answer from wiretime ui. Start it again and open the address that it prints.");
  }
  const body = parsed(text);
  if (!answer.ok) throw new Failure(answer.status, saidIn(body) ?? `The request ${path} failed with status ${answer.status}.`, body);
  return body as T;
}

/** askData asks for a report's data. */
export const askData = async <D extends Data>(path: string, signal: AbortSignal): Promise<D> => withSummaries(await ask<D>(path, { signal }));

function parsed(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return text;
  }
}

function saidIn(body: unknown): string | null {
  if (typeof body === "object" && body !== null && "error" in body && typeof body.error === "string") return body.error;
  return typeof body === "string" && body.trim() !== "" ? body.trim() : null;
}
