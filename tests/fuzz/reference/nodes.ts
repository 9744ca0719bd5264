/** Objects inside a prompt, in the reference. */
import type { Json } from "../json.ts";
import { Lane } from "./lane.ts";
import { addTally, emptyTally, type Tally, textTally } from "./tally.ts";
import { compact, field, imagesIn, renamed, textOf } from "./values.ts";

const MAX_LEVELS = 8;
const IMAGES = [
  "image_url",
  "image",
  "images",
  "source",
  "video_url",
  "file",
  "file_data",
  "file_id",
];
const AUDIOS = ["input_audio", "audio_url", "audio"];
const MEDIA_FIELDS = ["content", "url", "data", "id", "file_id", "file_data"];
const TEXTS = [
  "content",
  "text",
  "reasoning_content",
  "reasoning",
  "thinking",
  "summary",
  "refusal",
  "arguments",
  "input",
  "output",
];
const PARTS = ["content", "summary", "reasoning", "tool_calls", "output", ...IMAGES, ...AUDIOS];
const NODES = ["function_call", "function", "custom", ...IMAGES, ...AUDIOS];
const VALUES = ["arguments", "input", "output"];
const ALL = new Set([...TEXTS, ...PARTS, ...NODES, ...VALUES, "name", "url", "data", "id"]);

/** Other names of fields, and those that only parts have. */
const NAMES = {
  video: "video_url",
  image_embeds: "image",
  audio_embeds: "audio",
  file_url: "file_id",
  result: "image",
  action: "input",
  operation: "input",
  code: "input",
  outputs: "output",
  logs: "text",
  stdout: "output",
  stderr: "refusal",
  encrypted_content: "name",
};
const PART_NAMES = { ...NAMES, uuid: "name" };

export interface Slot {
  form: string;
  tally: Tally;
}

/** Reads an object: its text flows into `lane`, the rest is given as slots. */
export function readNode(
  given: Json,
  level: number,
  isMedia: boolean,
  lane: Lane,
): Map<string, Slot> {
  const json = renamed(given, level > 0 ? PART_NAMES : NAMES);
  const flow = level === 0 ? "content" : "text";
  const flowing = field(json, flow);
  if (flowing && !isMedia) {
    if (flowing.kind === "string") lane.text(flowing.value);
    if (flowing.kind === "array" && level === 0) readParts(flowing.items, flow, level, lane);
  }
  const slots = new Map<string, Slot>();
  for (const key of ALL) {
    if (key === flow && !isMedia) continue;
    if (isMedia && !MEDIA_FIELDS.includes(key)) continue;
    const value = field(json, key);
    const slot = value && readSlot(key, value, level, isMedia);
    if (slot) slots.set(key, slot);
  }
  return slots;
}

function readSlot(key: string, value: Json, level: number, isMedia: boolean): Slot | undefined {
  const isPicture = IMAGES.includes(key);
  const isSound = AUDIOS.includes(key);
  switch (value.kind) {
    case "null":
      return undefined;
    case "string": {
      if (value.value === "") return undefined;
      const form = textForm(value.value);
      if (isMedia || TEXTS.includes(key)) return { form, tally: textTally(value.value) };
      if (!isPicture && !isSound && key !== "name") return undefined;
      const isImage = isPicture && key !== "source";
      const tally = { ...emptyTally(), images: isImage ? 1 : 0, audios: isSound ? 1 : 0 };
      return { form, tally };
    }
    case "array":
      if (PARTS.includes(key) && level + 1 < MAX_LEVELS) {
        return inLane((lane) => readParts(value.items, key, level, lane));
      }
      return VALUES.includes(key) ? digest(value) : undefined;
    case "object":
      if (level + 1 >= MAX_LEVELS) return undefined;
      if (NODES.includes(key)) {
        return inLane((lane) => readPart(value, key, level + 1, lane));
      }
      return VALUES.includes(key) || (key === "content" && level > 0) ? digest(value) : undefined;
    default:
      return VALUES.includes(key) ? digest(value) : undefined;
  }
}

/** A text is as good as a lane that holds nothing else. */
function textForm(text: string): string {
  return JSON.stringify([Buffer.from(text).toString("latin1")]);
}

function inLane(read: (lane: Lane) => void): Slot | undefined {
  const lane = new Lane();
  read(lane);
  return lane.isUsed ? { form: lane.form, tally: lane.tally } : undefined;
}

function digest(value: Json): Slot {
  return {
    form: JSON.stringify(["value", compact(value, true)]),
    tally: { ...textTally(compact(value, false)), images: imagesIn(value) },
  };
}

/** Reads the items of an array under `key` of an object at `level`. */
export function readParts(items: Json[], key: string, level: number, lane: Lane): void {
  for (const item of items) {
    if (item.kind === "object" && level + 1 < MAX_LEVELS) {
      lane.beginPart();
      readPart(item, key, level + 1, lane);
    } else if (item.kind === "string" && (IMAGES.includes(key) || AUDIOS.includes(key))) {
      if (item.value !== "") lane.mark(textForm(item.value), mediaTally(key));
    } else if (item.kind === "string" && TEXTS.includes(key)) {
      lane.beginPart();
      lane.text(item.value);
    }
  }
}

function mediaTally(key: string): Tally {
  const isSound = AUDIOS.includes(key);
  return { ...emptyTally(), images: isSound ? 0 : 1, audios: isSound ? 1 : 0 };
}

/** Reads an object that isn't a message, and marks the lane with its slots. */
function readPart(json: Json, outerKey: string, level: number, lane: Lane): void {
  const isMedia = IMAGES.includes(outerKey) || AUDIOS.includes(outerKey);
  const slots = readNode(json, level, isMedia, lane);
  if (slots.size === 0) return;
  let tally = emptyTally();
  if (!isMedia) for (const slot of slots.values()) addTally(tally, slot.tally);
  else if (textOf(field(json, "type")) === "text" || slots.has("content")) {
    for (const key of ["data", "content"]) {
      const slot = slots.get(key);
      if (slot) addTally(tally, slot.tally);
    }
  } else tally = mediaTally(outerKey);
  lane.mark(formOfSlots(slots), tally);
}

/** A form of the slots that doesn't depend on the order they came in. */
export function formOfSlots(slots: Map<string, Slot>): string {
  return JSON.stringify([...slots].map(([key, slot]) => [key, slot.form]).sort());
}
