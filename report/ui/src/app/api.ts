// What the server of `wiretime ui` answers (package ui; docs/ui.md): the two change together. Times are ms unless their names say otherwise.

import type { Cell, Critical, Fact, Flow, FlowEvent, Load, Metric, Network } from "../data";

export interface State {
  version: string;
  store: string;
  studies: string; // the folder of study files
  problem?: string; // why the store cannot be read
  running?: Running;
  resumable?: { run: number; study: string; done: number; planned: number };
  last?: { code: number; said: string; study: string }; // how the last process that this server started ended
  controls: boolean;
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

/** CellLoad is a load of a cell's page. */
export interface CellLoad extends Load {
  started: string;
  wall: number;
  violations: Violation[];
  files: boolean;
  dropped: boolean;
}

export interface CellPage {
  run: number;
  study: string;
  number: number;
  section: number;
  cell: Cell;
  axes: Fact[];
  metrics: Metric[];
  network: Network;
  loads: CellLoad[];
  words: string[];
  critical?: Critical;
  flow?: Flow;
  kinds?: string[];
  reasons?: string[];
}

export interface LoadPage {
  run: number;
  study: string;
  cell: number;
  section: number;
  label: string;
  axes: Fact[];
  network: Network;
  metrics: Metric[];
  load: Load;
  started: string;
  wall: number;
  seed: string;
  index: number;
  violations: Violation[];
  pages: { url: string; started: number; dcl: number; onload: number; plt: number }[];
  files: { name: string; octets: number; url: string }[];
  dropped?: string;
  words: string[];
  has: { critical: boolean; connections: boolean; packets: boolean };
  neighbours: { previous?: string; next?: string };
}

/** Step is a part of a critical path; its ends are ns since navigation start. */
export interface Step {
  from: number;
  to: number;
  phase: string;
  kind: string;
  url?: string;
}

/** Paths are the critical paths of a load's pages; onLoad and kinds are ns. */
export interface Paths {
  kinds: string[];
  paths: { page: string; onLoad: number; verdict: string; late: number; kinds: Record<string, number>; steps: Step[] }[];
}

export interface Connections {
  reasons: string[];
  connections: Connection[];
}

export interface Connection {
  name: string;
  protocol: string;
  opened: number;
  unseen?: string[];
  events: FlowEvent[];
  more: number;
  transfers: { sender: string; octets: number; from: number; to: number; sums: number[]; held: Flow["held"]; points: Flow["points"] }[];
}

/** Packet: moments are us since navigation start; arrived is -1 where it is not known. */
export type Packet = [sent: number, arrived: number, up: number, octets: number, connection: number, fate: number, again: number];

export interface Packets {
  connections: string[];
  fates: string[]; // fates[0] is ""
  more: number;
  packets: Packet[];
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
  elapsed?: number;
  last: { id: string; cell: number; label: string; site: string; network: string; validity: string; reason?: string; metric: string; value?: number; late?: number; ended: string }[];
  late: { worst: number; loads: number };
}

export interface Studies {
  folder: string;
  builtin: { name: string; title: string; description: string }[];
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
  plan?: { name: string; title: string; cells: number; loads: number; quickCells: number; quickLoads: number; clock: string; commands?: string[] };
}

/** Mistake: line and column count from 1, the column in characters. */
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
