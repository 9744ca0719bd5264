/*
 * The configuration's parser for tests in Node: write bytes at alloc(len), call check, or keep and
 * then describe; read resultLength() bytes of UTF-8 at resultPtr().
 */
import { Text } from "../../../assembly/bytes";
import { Config, MetricNames } from "../../../assembly/config/config";
import { Field, Kind, Section, maxEntryBytes } from "../../../assembly/config/fields";
import { parseConfig } from "../../../assembly/config/parse";
import { sectionsOf } from "../../../assembly/config/sections";
import { SIGNALS, signalName } from "../../../assembly/config/signals";

let input: StaticArray<u8> = new StaticArray<u8>(0);
let result: ArrayBuffer = new ArrayBuffer(0);
let kept: Config | null = null;

/** Room for the next input. */
export function alloc(len: i32): usize {
  input = new StaticArray<u8>(len);
  return changetype<usize>(input);
}

export function resultPtr(): usize {
  return changetype<usize>(result);
}

export function resultLength(): i32 {
  return result.byteLength;
}

/** Parses the input; the result is the error, or nothing. Returns 1 if there is a configuration. */
export function check(): i32 {
  const outcome = parseConfig(changetype<usize>(input), input.length);
  result = String.UTF8.encode(outcome.error);
  return outcome.config ? 1 : 0;
}

/** Parses the input and keeps the configuration. Returns 1 if there is one. */
export function keep(): i32 {
  kept = parseConfig(changetype<usize>(input), input.length).config;
  return kept ? 1 : 0;
}

/** The result is a JSON list of all fields with the values of the configuration kept. */
export function describe(): void {
  const config = kept;
  result = config ? String.UTF8.encode(listOf(config)) : new ArrayBuffer(0);
}

/** Frees what earlier parses left, as the filter does when nothing is on the stack. */
export function collect(): void {
  __collect();
}

function listOf(config: Config): string {
  const sections = sectionsOf(config);
  let out = "";
  for (let i = 0; i < sections.length; i++) {
    const fields = sections[i].fields;
    for (let j = 0; j < fields.length; j++) {
      out += (out.length == 0 ? "[" : ",") + fieldJson(sections[i], fields[j]);
    }
  }
  return out + "]";
}

function fieldJson(section: Section, field: Field): string {
  const path = section.name.length == 0 ? field.name : section.name + "." + field.name;
  let words = "";
  for (let i = 0; i < field.words.length; i++) words += (i == 0 ? "" : ",") + quote(field.words[i]);
  let signals = "";
  if (field.kind == Kind.Names) {
    for (let i = 0; i < SIGNALS; i++) signals += (i == 0 ? "" : ",") + quote(signalName(i));
  }
  return (
    `{"path":${quote(path)},"kind":${<i32>field.kind},"shape":${<i32>field.shape},` +
    `"min":${field.min},"max":${field.max},"entryBytes":${maxEntryBytes(field.shape)},` +
    `"words":[${words}],"signals":[${signals}],"value":${valueJson(section, field)}}`
  );
}

function valueJson(section: Section, field: Field): string {
  const at = section.base + field.offset;
  switch (field.kind) {
    case Kind.Flag:
      return load<bool>(at) ? "true" : "false";
    case Kind.Integer:
      return load<i32>(at).toString();
    case Kind.Learned:
      return load<i32>(at) == 0 ? "null" : load<i32>(at).toString();
    case Kind.Size:
      return load<i64>(at).toString();
    case Kind.Number:
      return load<f64>(at).toString();
    case Kind.Word:
      return quote(field.words[load<i32>(at)]);
    case Kind.Text:
      return textJson(changetype<Text>(load<usize>(at)));
    case Kind.List:
      return textsJson(changetype<Array<Text>>(load<usize>(at)));
    default:
      return namesJson(changetype<MetricNames>(load<usize>(at)));
  }
}

function namesJson(names: MetricNames): string {
  let out = "";
  for (let i = 0; i < SIGNALS; i++) {
    const list = names.bySignal[i];
    if (list) out += (out.length == 0 ? "" : ",") + quote(signalName(i)) + ":" + textsJson(list);
  }
  return "{" + out + "}";
}

function textsJson(list: Array<Text>): string {
  let out = "";
  for (let i = 0; i < list.length; i++) out += (i == 0 ? "" : ",") + textJson(list[i]);
  return "[" + out + "]";
}

function textJson(value: Text): string {
  return quote(String.UTF8.decodeUnsafe(value.ptr, value.len));
}

function quote(value: string): string {
  return '"' + value.replaceAll("\\", "\\\\").replaceAll('"', '\\"') + '"';
}
