import type { Runs } from "../llm/runs.ts";

export type Role = "tools" | "system" | "user" | "assistant" | "tool";

/** A message by its length in 16-token blocks; the last one takes what is left of the prompt. */
export interface Message {
  role: Role;
  blocks: number;
}

/** A request of a workload: lengths and block ids; its text is made from the ids. */
export interface WorkRequest {
  /** Its place in the workload. */
  id: number;
  /** What a client would send as its session, were it to send one. */
  session: string;
  tenant: string;
  /** Arrival; with `after`, think time after that request's end. */
  atMs: number;
  /** The request of the same session that must have ended before, −1 for none. */
  after: number;
  promptTokens: number;
  /** Ids of the prompt's full 16-token blocks. */
  blocks: Runs;
  messages: readonly Message[];
  outputTokens: number;
  /** What its answer's length was drawn for, where a workload has several kinds of answers. */
  kind?: string;
  /** Id of the block after the prompt's full ones, if a later turn contains the answer. */
  outputBlock?: number;
}

export interface Workload {
  name: string;
  requests: WorkRequest[];
}

/** Multiplies the rate of arrivals; think times stay. */
export function atRate(workload: Workload, rate: number): Workload {
  const requests = workload.requests.map((request) =>
    request.after < 0 ? { ...request, atMs: request.atMs / rate } : request,
  );
  return { name: workload.name, requests };
}

/** Begins so much later, ms: what is there from the start has been up for a while then. */
export function later(workload: Workload, ms: number): Workload {
  const requests = workload.requests.map((request) =>
    request.after < 0 ? { ...request, atMs: request.atMs + ms } : request,
  );
  return { name: workload.name, requests };
}

/**
 * One half of a workload, by sessions so that none is cut: the policy is tuned on the first half
 * and reported on the second.
 */
export function half(workload: Workload, which: "first" | "second"): Workload {
  const { requests } = workload;
  const roots = requests.map((request) => request.after);
  for (let i = 0; i < roots.length; i += 1) {
    const after = roots[i] as number;
    roots[i] = after < 0 ? i : (roots[after] as number);
  }
  const starts = requests
    .filter((request) => request.after < 0)
    .map((request) => request.atMs)
    .sort((a, b) => a - b);
  const middleMs = starts[starts.length >> 1] ?? 0;
  const wanted = requests.filter((_, i) => {
    const early = (requests[roots[i] as number] as WorkRequest).atMs < middleMs;
    return early === (which === "first");
  });
  return renumber(workload.name, wanted, which === "second" ? middleMs : 0);
}

/** Whether requests wait for answers: then users, not arrivals, make the load. */
export function isClosed(workload: Workload): boolean {
  return workload.requests.some((request) => request.after >= 0);
}

/** Sessions of a workload. */
export function countSessions(workload: Workload): number {
  return new Set(workload.requests.map((request) => request.session)).size;
}

/** The first `count` sessions that start. */
export function firstSessions(workload: Workload, count: number): Workload {
  const starts = workload.requests.filter((request) => request.after < 0);
  starts.sort((a, b) => a.atMs - b.atMs);
  const names = new Set<string>();
  for (const { session } of starts) if (names.size < count) names.add(session);
  const wanted = workload.requests.filter((request) => names.has(request.session));
  return renumber(workload.name, wanted, 0);
}

/** The first `count` requests, by the order they stand in. */
export function head(workload: Workload, count: number): Workload {
  if (workload.requests.length <= count) return workload;
  return renumber(workload.name, workload.requests.slice(0, count), 0);
}

function renumber(name: string, wanted: readonly WorkRequest[], originMs: number): Workload {
  const ids = new Map(wanted.map((request, id) => [request.id, id]));
  const requests = wanted.map((request, id) => ({
    ...request,
    id,
    after: request.after < 0 ? -1 : (ids.get(request.after) ?? -1),
    atMs: request.after < 0 ? request.atMs - originMs : request.atMs,
  }));
  return { name, requests };
}

/** Hands out block ids and puts requests together; what generators and trace readers build with. */
export class WorkloadBuilder {
  readonly requests: WorkRequest[] = [];
  private nextBlock = 0;

  /** `count` ids that nobody else has. */
  newBlocks(count: number): number {
    const first = this.nextBlock;
    this.nextBlock += count;
    return first;
  }

  add(request: Omit<WorkRequest, "id">): WorkRequest {
    const added = { ...request, id: this.requests.length };
    this.requests.push(added);
    return added;
  }

  /** Sorts the requests that start by themselves; followers keep pointing at the right one. */
  done(name: string): Workload {
    const starts = this.requests.filter((request) => request.after < 0);
    const followers = this.requests.filter((request) => request.after >= 0);
    starts.sort((a, b) => a.atMs - b.atMs || a.id - b.id);
    return renumber(name, [...starts, ...followers], 0);
  }
}
