import type { Call } from "../host/calls.ts";
import { ManualClock } from "../host/clock.ts";
import type { Stream } from "../host/stream.ts";
import type { Root } from "../host/vm.ts";
import { Gateway, hostNames } from "./gateway.ts";

export const PEER_PATH = "/warmroute/peers";
const CLUSTER = "warmroute_peers";
const HEADER = "x-gateway-destination-endpoint";
const IDLE = "vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n";
const HEAD_BYTES = 40;
const HELD_BYTES = 24;
const ROW_BYTES = 40;
/** The kind of a message with rows and placements. */
const UPDATE = 1;

export interface PeerLabOptions {
  servers?: number;
  workers?: number;
  /** By how much each gateway's clock is ahead, ms. */
  aheadMs?: number[];
  /** How long a message takes from one to another, ms; undefined: it is lost. Default 1. */
  delayMs?: (from: number, to: number) => number | undefined;
  config?: Record<string, unknown>;
  /** Each gateway's `affinity.hash_secret`; none by default. */
  secrets?: string[];
  /** Members come from Envoy's admin interface. */
  isDiscovered?: boolean;
}

/** One gateway of several, with its listener for the others. */
export class Peer {
  readonly gateway: Gateway;
  readonly internal: Root[];
  readonly address: string;

  constructor(gateway: Gateway, address: string) {
    this.gateway = gateway;
    this.address = address;
    const config = JSON.stringify({ peers: { serve: true } });
    this.internal = gateway.host.vms.map((vm) => vm.createRoot({ rootId: "warmroute", config }));
  }

  /** A request on the internal listener. */
  hear(body: Uint8Array | string, { path = PEER_PATH, method = "POST", worker = 0 } = {}): Stream {
    const stream = (this.internal[worker] as Root).createStream({ cluster: "none" });
    const bytes = Buffer.from(body as string);
    stream.requestHeaders(
      [
        [":method", method],
        [":path", path],
        [":authority", "peer"],
      ],
      bytes.length === 0,
    );
    if (bytes.length > 0 && stream.localReply === undefined) stream.requestBody(bytes, true);
    return stream;
  }

  dropped(cause: string): number {
    return this.gateway.stat(`peer_messages_dropped_total.cause.${cause}`);
  }
}

/** Several gateways in virtual time, each with a clock of its own, before the same servers. */
export class PeerLab {
  readonly hosts: string[];
  readonly peers: Peer[] = [];
  /** Messages in the order in which they were sent. */
  readonly sent: { from: number; to: number; atMs: number; call: Call }[] = [];
  delayMs: (from: number, to: number) => number | undefined;
  /** What the network makes of a message. */
  alter: (from: number, to: number, body: Buffer) => Buffer = (_from, _to, body) => body;
  /** What every server reports. */
  page = IDLE;
  /** What single servers report instead, by address. */
  readonly pages = new Map<string, string>();
  nowMs = 0;
  private readonly options: PeerLabOptions;
  private readonly addresses: string[];
  /** Members that discovery finds. */
  members: string[];
  private readonly due: { atMs: number; act: () => void }[] = [];

  constructor(count: number, options: PeerLabOptions = {}) {
    this.options = options;
    this.hosts = hostNames(options.servers ?? 4);
    this.addresses = Array.from({ length: count }, (_, i) => `10.1.0.${i + 1}:9902`);
    this.members = [...this.addresses];
    this.delayMs = options.delayMs ?? (() => 1);
    for (let i = 0; i < count; i++) this.peers.push(this.start(i));
  }

  /** The gateway with a number starts anew, with nothing known. */
  restart(index: number): Peer {
    const peer = this.start(index);
    this.peers[index] = peer;
    return peer;
  }

  at(index: number): Gateway {
    return (this.peers[index] as Peer).gateway;
  }

  /** Lets time pass, a millisecond at a time. */
  wait(ms: number): void {
    for (let i = 0; i < ms; i++) {
      this.nowMs++;
      for (const { gateway } of this.peers) gateway.host.advance(1);
      for (let at = 0; at < this.due.length; at++) {
        const { atMs, act } = this.due[at] as { atMs: number; act: () => void };
        if (atMs > this.nowMs) continue;
        this.due.splice(at--, 1);
        act();
      }
    }
  }

  /** Messages from a gateway since a moment, one per message however many get it. */
  messagesOf(from: number, sinceMs = 0): { atMs: number; update: Update }[] {
    const to = from === 0 ? 1 : 0;
    return this.sent
      .filter((each) => each.from === from && each.to === to && each.atMs >= sinceMs)
      .filter(({ call }) => call.body.readUInt8(4) === UPDATE)
      .map(({ atMs, call }) => ({ atMs, update: readUpdate(call.body) }));
  }

  private start(index: number): Peer {
    const { workers = 2, aheadMs = [], config = {}, isDiscovered = false } = this.options;
    const secret = this.options.secrets?.[index] ?? "";
    const members = isDiscovered ? [] : this.addresses;
    const discovery = isDiscovered ? { discovery: { source: "envoy_admin" } } : {};
    // The test host's chance is the same for all: their names must differ by their clocks.
    const ahead = (aheadMs[index] ?? 0) + 0.01 * (index + 1);
    const clock = new ManualClock(1_700_000_000_000 + this.nowMs + ahead);
    const gateway = new Gateway(this.hosts, {
      workers,
      clock,
      clusters: ["llm", "envoy_admin", CLUSTER],
      config: {
        cost: { learn: false },
        ...discovery,
        ...(secret ? { affinity: { hash_secret: secret } } : {}),
        ...config,
        peers: { cluster: CLUSTER, hosts: members, ...(config.peers as object) },
      },
      onCall: (call) => this.tell(index, call),
    });
    return new Peer(gateway, this.addresses[index] as string);
  }

  private tell(from: number, call: Call): void {
    if (call.cluster === "envoy_admin") {
      this.later(1, () => call.respond(200, this.clusters()));
      return;
    }
    if (call.cluster === "llm") {
      const page = this.pages.get(call.headers.get(HEADER) ?? "") ?? this.page;
      this.later(1, () => call.respond(200, page));
    }
    if (call.cluster !== CLUSTER) return;
    const to = this.addresses.indexOf(call.headers.get(HEADER) ?? "");
    const sender = this.peers[from];
    this.sent.push({ from, to, atMs: this.nowMs, call });
    this.later(call.timeoutMs, () => {
      if (!call.answered) call.timeOut();
    });
    const there = this.delayMs(from, to);
    if (there === undefined) return;
    this.later(there, () => {
      const peer = this.peers[to] as Peer;
      const reply = peer.hear(this.alter(from, to, call.body), {
        worker: this.sent.length % peer.internal.length,
      });
      const back = this.delayMs(to, from);
      if (back === undefined) return;
      this.later(back, () => {
        if (call.answered || (sender && this.peers[from] !== sender)) return;
        call.respond(reply.localReply?.status ?? 503, reply.localReply?.body ?? "");
      });
    });
  }

  /** What Envoy's admin interface says. */
  private clusters(): string {
    const status = (name: string, members: string[]) => ({
      name,
      host_statuses: members.map((member) => {
        const [address, port] = member.split(":");
        return { address: { socket_address: { address, port_value: Number(port) } } };
      }),
    });
    return JSON.stringify({
      cluster_statuses: [status("llm", this.hosts), status(CLUSTER, this.members)],
    });
  }

  private later(ms: number, act: () => void): void {
    this.due.push({ atMs: this.nowMs + ms, act });
  }
}

/** An update as assembly/peers/wire.ts draws it. */
export interface Update {
  isFull: boolean;
  gateway: bigint;
  sequence: number;
  sentMs: number;
  /** Requests held. */
  held: number;
  rows: {
    host: bigint;
    waiting: number;
    decoding: number;
    workMs: number;
    clock: number;
    prefillSamples: number;
  }[];
  placements: { host: number; ids: bigint[]; conversation: bigint }[];
}

function readUpdate(body: Buffer): Update {
  const rows = Array.from({ length: body.readUInt16LE(6) }, (_, i) => {
    const at = HEAD_BYTES + HELD_BYTES + i * ROW_BYTES;
    return {
      host: body.readBigUInt64LE(at),
      waiting: body.readUInt16LE(at + 8),
      decoding: body.readUInt16LE(at + 10),
      workMs: body.readFloatLE(at + 12),
      clock: body.readDoubleLE(at + 24),
      prefillSamples: body.readUInt8(at + 36),
    };
  });
  const placements: Update["placements"] = [];
  let at = HEAD_BYTES + HELD_BYTES + rows.length * ROW_BYTES;
  for (let i = 0; i < body.readUInt16LE(20); i++) {
    const start = at + 24;
    const count = body.readUInt16LE(at + 2);
    placements.push({
      host: body.readUInt16LE(at),
      conversation: body.readBigUInt64LE(at + 8),
      ids: Array.from({ length: count }, (_, n) => body.readBigUInt64LE(start + 8 * n)),
    });
    at = start + 8 * count;
  }
  return {
    isFull: (body.readUInt8(5) & 1) !== 0,
    gateway: body.readBigUInt64LE(8),
    sequence: body.readUInt32LE(16),
    sentMs: body.readDoubleLE(24),
    held: body.readUInt16LE(HEAD_BYTES),
    rows,
    placements,
  };
}

/** Gateways that have found each other. */
export function met(count: number, options: PeerLabOptions = {}): PeerLab {
  const lab = new PeerLab(count, options);
  lab.wait(1300);
  return lab;
}

/** How many others each gateway hears. */
export const heardBy = (lab: PeerLab) =>
  lab.peers.map(({ gateway }) => gateway.stat("peers_heard"));
