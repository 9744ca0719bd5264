import {
  JsonTree,
  MAX_TREE_BYTES,
  MAX_TREE_DEPTH,
  MAX_TREE_NODES,
  NodeKind,
  NONE,
  TreeState,
} from "../json/tree";
import { checkTogether } from "./combine";
import { Config } from "./config";
import { isKey, keyOf, pathOf } from "./describe";
import { Section } from "./fields";
import { Reader } from "./reader";
import { sectionsOf } from "./sections";
import { nearest, sameName, unknownField } from "./suggest";

/** A configuration, or the one error that stands in its way. */
export class ConfigResult {
  constructor(
    /** Null if there is an error. */
    public config: Config | null,
    /** `metrics.interval_ms: expected 10..3600000, got -5`; empty if there is a configuration. */
    public error: string,
  ) {}
}

/** Reads a plugin configuration (JSON in UTF-8); nothing but white space means `{}`. Never traps. */
export function parseConfig(ptr: usize, len: i32): ConfigResult {
  const config = new Config();
  if (isBlank(ptr, len)) return new ConfigResult(config, "");
  const tree = new JsonTree();
  let error = treeError(tree, tree.parse(ptr, len), len);
  if (error.length == 0) error = readTree(tree, config);
  if (error.length == 0) error = checkTogether(config);
  if (error.length > 0) return new ConfigResult(null, error);
  const admission = config.admission;
  if (admission.tenantHeader.len == 0) admission.tenantHeader = config.affinity.tenantHeader;
  return new ConfigResult(config, "");
}

/** Whether there is nothing but white space, a byte order mark before it aside. */
function isBlank(ptr: usize, len: i32): bool {
  const marked = len >= 3 && load<u16>(ptr) == 0xbbef && load<u8>(ptr + 2) == 0xbf;
  for (let i = marked ? 3 : 0; i < len; i++) {
    const byte = load<u8>(ptr + i);
    if (byte != 0x20 && byte != 0x09 && byte != 0x0a && byte != 0x0d) return false;
  }
  return true;
}

function treeError(tree: JsonTree, state: TreeState, len: i32): string {
  switch (state) {
    case TreeState.Ok:
      return "";
    case TreeState.TooLong:
      return `configuration: expected at most ${MAX_TREE_BYTES} bytes, got ${len}`;
    case TreeState.TooDeep:
      return `configuration: expected at most ${MAX_TREE_DEPTH} levels, got more`;
    case TreeState.TooMany:
      return `configuration: expected at most ${MAX_TREE_NODES} values, got more`;
    case TreeState.Duplicate:
      return pathOf(tree, tree.errorNode) + ": duplicate field, expected it once";
    default: {
      const at = tree.errorOffset;
      const what = at < len ? `a syntax error at byte ${at}` : `its end at byte ${at}`;
      return "configuration: expected JSON, got " + what;
    }
  }
}

/** Reads all members into the configuration, in the document's order; the error, or empty. */
function readTree(tree: JsonTree, config: Config): string {
  const reader = new Reader(tree);
  if (tree.kind(0) != NodeKind.Object) {
    reader.expected(0, "an object");
    return reader.error;
  }
  const sections = sectionsOf(config);
  for (let node = tree.first(0); node != NONE; node = tree.next(node)) {
    const section = sectionNamed(tree, node, sections);
    if (!section) {
      readField(reader, tree, node, sections[0], sections);
    } else if (tree.kind(node) != NodeKind.Object) {
      reader.expected(node, "an object");
    } else {
      for (let child = tree.first(node); child != NONE; child = tree.next(child)) {
        readField(reader, tree, child, section, sections);
      }
    }
    if (reader.error.length > 0) break;
  }
  return reader.error;
}

function sectionNamed(tree: JsonTree, node: i32, sections: Array<Section>): Section | null {
  for (let i = 1; i < sections.length; i++) {
    if (isKey(tree, node, sections[i].name)) return sections[i];
  }
  return null;
}

function readField(
  reader: Reader,
  tree: JsonTree,
  node: i32,
  section: Section,
  sections: Array<Section>,
): void {
  const fields = section.fields;
  for (let i = 0; i < fields.length; i++) {
    if (isKey(tree, node, fields[i].name)) return reader.read(fields[i], section.base, node);
  }
  reader.fail(pathOf(tree, node), unknownText(keyOf(tree, node), section, sections));
}

/** Says which fields there are here, and which one may have been meant, here or elsewhere. */
function unknownText(key: string, section: Section, sections: Array<Section>): string {
  const names = new Array<string>();
  for (let i = 0; i < section.fields.length; i++) names.push(section.fields[i].name);
  if (section.name.length == 0) {
    for (let i = 1; i < sections.length; i++) names.push(sections[i].name);
  }
  const near = nearest(key, names);
  return unknownField(names, near.length > 0 ? near : elsewhere(key, sections));
}

/** The paths of all fields that have this name, or this path, whatever its case and punctuation. */
function elsewhere(key: string, sections: Array<Section>): string {
  let found = "";
  for (let i = 0; i < sections.length; i++) {
    const section = sections[i];
    const prefix = section.name.length == 0 ? "" : section.name + ".";
    for (let j = 0; j < section.fields.length; j++) {
      const path = prefix + section.fields[j].name;
      if (!sameName(key, section.fields[j].name) && !sameName(key, path)) continue;
      found += found.length == 0 ? path : " or " + path;
    }
  }
  return found;
}
