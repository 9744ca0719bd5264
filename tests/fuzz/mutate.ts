import type { Random } from "./random.ts";

/** Pieces that tend to break JSON readers. */
const PIECES: readonly Uint8Array[] = [
  ...[
    '"',
    "\\",
    "\\u",
    "\\ud83d",
    "\\ude80",
    "\\u0041",
    "\\n",
    '\\"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "0",
    "-",
    "1e400",
    "-0.0e-1",
    "1.5E+3",
    "01",
    ".5",
    "true",
    "fals",
    "null",
    " ",
    "\n",
    "\t",
    "é",
    "東",
    "🚀",
    "\u0000",
    "\u001f",
    "\u007f",
    '"model":',
    '"messages":',
    '"content":"x",',
  ].map((piece) => new TextEncoder().encode(piece)),
  ...[
    [0x80],
    [0xc0],
    [0xc3],
    [0xe6, 0x9d],
    [0xed, 0xa0, 0x80],
    [0xf0, 0x9f, 0x9a],
    [0xf4, 0x90],
    [0xf5],
    [0xff],
    [0xef, 0xbb, 0xbf],
    [0xe0, 0x80, 0x80],
    [0xf0, 0x80, 0x80, 0x80],
  ].map((bytes) => Uint8Array.from(bytes)),
];

function splice(body: Uint8Array, at: number, remove: number, add: Uint8Array): Uint8Array {
  const out = new Uint8Array(body.length - remove + add.length);
  out.set(body.subarray(0, at));
  out.set(add, at);
  out.set(body.subarray(at + remove), at + add.length);
  return out;
}

/** A copy of `body` with one to four random changes of its bytes. */
export function mutateBytes(body: Uint8Array, random: Random): Uint8Array {
  let out: Uint8Array = new Uint8Array(body);
  const changes = 1 + random.below(4);
  for (let i = 0; i < changes; i++) {
    const at = random.below(out.length + 1);
    const rest = out.length - at;
    switch (random.below(6)) {
      case 0:
        if (rest > 0) out[at] = random.below(256);
        break;
      case 1:
        out = splice(out, at, 0, random.pick(PIECES));
        break;
      case 2:
        out = splice(out, at, Math.min(rest, 1 + random.below(8)), new Uint8Array(0));
        break;
      case 3: {
        const from = random.below(out.length + 1);
        const copied = out.slice(from, from + random.below(64));
        out = splice(out, at, 0, copied);
        break;
      }
      case 4:
        if (rest > 0) out[at] = (out[at] ?? 0) ^ (1 << random.below(8));
        break;
      default:
        if (random.below(8) === 0) out = out.slice(0, at);
        else out = splice(out, at, Math.min(rest, 1), random.pick(PIECES));
    }
  }
  return out;
}
