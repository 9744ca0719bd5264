/** Messages, prompts and system text, in the reference, with the boundaries that they give. */
import { createHash } from "node:crypto";
import type { Json } from "../json.ts";
import { Lane } from "./lane.ts";
import { formOfSlots, readNode, readParts, type Slot } from "./nodes.ts";
import { addTally, emptyTally, type Tally, textTally } from "./tally.ts";
import { field, textOf } from "./values.ts";

const HEAD = ["name", "reasoning_content", "reasoning", "thinking", "summary"];

/** Neither role nor type. */
const NOBODY = JSON.stringify(["", ""]);

/** A boundary, counted from the start of its part of the prompt. */
export interface Boundary {
  bytes: number;
  ids: number;
  media: number;
  /** All that stands before it, in a form that differs where the content does. */
  before: string;
}

export interface Part {
  tally: Tally;
  form: string;
  boundaries: Boundary[];
  nonce: string;
}

/** System text: a string or parts. */
export function readSystem(json: Json | undefined): Part {
  const lane = new Lane();
  lane.isWatching = true;
  if (json?.kind === "string") lane.text(json.value);
  if (json?.kind === "array") readParts(json.items, "content", 0, lane);
  const form = lane.isUsed ? lane.form : "";
  const boundaries = lane.positions(0);
  if (form !== "") boundaries.push(endOf(lane.tally, `end ${form}`));
  return { tally: lane.tally, form, boundaries, nonce: lane.nonce };
}

function endOf(tally: Tally, before: string): Boundary {
  return { bytes: tally.bytes, ids: tally.ids, media: tally.images + tally.audios, before };
}

/** The items of a prompt, one after the other. */
export class Items {
  tally: Tally = emptyTally();
  boundaries: Boundary[] = [];
  prompts = 0;
  nonce = "";
  /** Form of all up to the end of the first user message, or else of the first message. */
  first = "";
  private form = "";
  private hasUser = false;
  private count = 0;
  private run: Lane | undefined;

  constructor(json: Json | undefined, onlyObjects: boolean) {
    if (json?.kind === "string") this.prompt((lane) => lane.text(json.value));
    if (json?.kind === "array") for (const item of json.items) this.item(item, onlyObjects);
    this.endRun();
  }

  private item(json: Json, onlyObjects: boolean): void {
    if (json.kind === "object") {
      this.endRun();
      this.message(json);
    } else if (onlyObjects) return;
    else if (json.kind === "string") {
      this.endRun();
      this.prompt((lane) => lane.text(json.value));
    } else if (json.kind === "array") {
      this.endRun();
      this.prompt((lane) => {
        for (const item of json.items) {
          if (item.kind === "number") lane.id(idBytes(item.raw));
          if (item.kind === "string") lane.text(item.value);
        }
      });
    } else if (json.kind === "number") {
      this.run ??= new Lane();
      this.run.id(idBytes(json.raw));
    }
  }

  private endRun(): void {
    const run = this.run;
    this.run = undefined;
    if (run) this.add(run, new Map(), NOBODY, true);
    if (run) this.prompts++;
  }

  private prompt(read: (lane: Lane) => void): void {
    const lane = new Lane();
    read(lane);
    this.prompts++;
    this.add(lane, new Map(), NOBODY, true);
  }

  private message(json: Json): void {
    const lane = new Lane();
    lane.isWatching = this.count === 0;
    const slots = readNode(json, 0, false, lane);
    const role = textOf(field(json, "role"));
    const type = textOf(field(json, "type"));
    const form = JSON.stringify([role, type === "message" ? "" : type]);
    this.add(lane, slots, form, role === "user", role);
  }

  private add(lane: Lane, slots: Map<string, Slot>, who: string, isUser: boolean, role = ""): void {
    const head = new Map([...slots].filter(([key]) => HEAD.includes(key)));
    const tail = new Map([...slots].filter(([key]) => !HEAD.includes(key)));
    const headTally = emptyTally();
    for (const slot of head.values()) addTally(headTally, slot.tally);
    let nonce = "";
    if (role === "system" || role === "developer") this.nonce += lane.nonce;
    else if (lane.nonce !== "") {
      nonce = lane.nonce;
      addTally(headTally, textTally(nonce));
    }
    const start = JSON.stringify([this.form, who, formOfSlots(head), nonce]);
    for (const position of lane.positions(this.tally.bytes + 4 * this.tally.ids)) {
      this.boundaries.push({
        bytes: this.tally.bytes + headTally.bytes + position.bytes,
        ids: this.tally.ids + position.ids,
        media:
          this.tally.images +
          this.tally.audios +
          headTally.images +
          headTally.audios +
          position.media,
        before: `${start}${position.before}`,
      });
    }
    addTally(this.tally, headTally);
    addTally(this.tally, lane.tally);
    for (const slot of tail.values()) addTally(this.tally, slot.tally);
    this.form = JSON.stringify([start, lane.form, formOfSlots(tail)]);
    this.boundaries.push(endOf(this.tally, this.form));
    if (this.first === "" || (isUser && !this.hasUser)) this.first = this.form;
    this.hasUser ||= isUser;
    this.count++;
  }
}

/** A token id as 4 bytes; what isn't one goes by its spelling. */
function idBytes(raw: string): Buffer {
  const bytes = Buffer.alloc(4);
  if (/^\d{1,18}$/.test(raw)) bytes.writeUInt32LE(Number(BigInt(raw) & 0xffffffffn));
  else createHash("sha1").update(raw.slice(0, 64)).digest().copy(bytes);
  return bytes;
}
