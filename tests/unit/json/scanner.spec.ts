import { text } from "../../../assembly/bytes";
import { JsonScanner, MAX_DEPTH, ScanState } from "../../../assembly/json/scanner";
import { JsonSink } from "../../../assembly/json/sink";

/** Notes what it is told, in short. */
class Notes extends JsonSink {
  notes: string = "";
  onObjectStart(): void {
    this.notes += "{";
  }
  onObjectEnd(): void {
    this.notes += "}";
  }
  onArrayStart(): void {
    this.notes += "[";
  }
  onArrayEnd(): void {
    this.notes += "]";
  }
  onKey(ptr: usize, len: i32, cut: bool): void {
    this.notes += String.UTF8.decodeUnsafe(ptr, len) + (cut ? "…:" : ":");
  }
  onStringStart(): void {
    this.notes += "'";
  }
  onStringBytes(ptr: usize, len: i32): void {
    this.notes += String.UTF8.decodeUnsafe(ptr, len);
  }
  onStringEnd(): void {
    this.notes += "'";
  }
  onNumber(ptr: usize, len: i32): void {
    this.notes += "#" + String.UTF8.decodeUnsafe(ptr, len);
  }
  onTrue(): void {
    this.notes += "T";
  }
  onFalse(): void {
    this.notes += "F";
  }
  onNull(): void {
    this.notes += "N";
  }
}

const notes = new Notes();
const scanner = new JsonScanner(notes);

/** What is told of a document fed `step` bytes at a time; `?` where it is refused. */
function told(json: string, step: i32): string {
  const bytes = text(json);
  notes.notes = "";
  scanner.reset();
  for (let at = 0; at < bytes.len; at += step) {
    scanner.feed(bytes.ptr + at, min(step, bytes.len - at));
  }
  return scanner.finish() == ScanState.Complete ? notes.notes : "?";
}

function check(json: string, expected: string): void {
  for (let step = 1; step < 40; step++) expect(told(json, step)).toBe(expected, json);
  expect(told(json, 100000)).toBe(expected, json);
}

describe("JsonScanner", () => {
  it("tells values in their order", () => {
    check('{"a":[1,true,false,null,"x"],"b":{}}', "{a:[#1TFN'x']b:{}}");
    check(" [ ] ", "[]");
    check("-0.5e+10", "#-0.5e+10");
    check('"\u{feff}"', "'\u{feff}'");
    check('\u{feff}{"a":""}', "{a:''}");
  });

  it("decodes escapes and keeps characters whole", () => {
    check('"\\u0041\\n\\"\\\\\\/"', "'A\n\"\\/'");
    check('{"\\u006dodel":"\\uD83D\\uDE80é東🚀"}', "{model:'🚀é東🚀'}");
    check('"\\ud83d"', "'\u{fffd}'");
    check('"\\ude80 \\ud83d\\ud83d\\ude80\\ud83dx"', "'\u{fffd} \u{fffd}🚀\u{fffd}x'");
  });

  it("refuses what JSON doesn't allow", () => {
    const bad: string[] = [
      "",
      " ",
      "{",
      "[1,]",
      "{,}",
      '{"a":1,}',
      '{"a"}',
      "01",
      "1.",
      "-",
      "+1",
      "1e",
      "tru",
      "truth",
      '"\\x"',
      '"\\u12g4"',
      '"a',
      '"\n"',
      "'a'",
      "[1 2]",
      "{} {}",
      "[}",
      "\u{feff}\u{feff}1",
      " \u{feff}1",
    ];
    for (let i = 0; i < bad.length; i++) check(bad[i], "?");
  });

  it("cuts keys and numbers that are too long", () => {
    const key = "k".repeat(300);
    check('{"' + key + '":1}', "{" + "k".repeat(256) + "…:#1}");
    check("1".repeat(70), "#" + "1".repeat(64));
  });

  it("gives long strings with escapes whole", () => {
    const line = "0123456789".repeat(30) + "\\n";
    const wanted = "0123456789".repeat(30) + "\n";
    check('"' + line.repeat(9) + '"', "'" + wanted.repeat(9) + "'");
    check('"' + "\\n".repeat(3000) + '"', "'" + "\n".repeat(3000) + "'");
    check('"' + "東京é".repeat(900) + '"', "'" + "東京é".repeat(900) + "'");
  });

  it("has an end to nesting", () => {
    const open = "[".repeat(MAX_DEPTH);
    const close = "]".repeat(MAX_DEPTH);
    notes.notes = "";
    expect(told(open + close, 1000)).not.toBe("?");
    expect(told("[" + open + close + "]", 1000)).toBe("?");
    expect(<i32>scanner.state).toBe(<i32>ScanState.TooDeep);
  });

  it("skips strings on demand", () => {
    scanner.reset();
    notes.notes = "";
    scanner.skipStrings = true;
    const bytes = text('["short","with \\n escape"]');
    scanner.feed(bytes.ptr, bytes.len);
    expect(<i32>scanner.finish()).toBe(<i32>ScanState.Complete);
    expect(notes.notes).toBe("['''']");
  });
});
