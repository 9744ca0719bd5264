/** Names longer than this get no suggestion. */
const MAX_NAME: i32 = 64;

/** What a message says of an unknown field; `meant` may be empty. */
export function unknownField(names: Array<string>, meant: string): string {
  const hint = meant.length == 0 ? "" : `; did you mean ${meant}?`;
  return `unknown field, expected one of ${names.join(", ")}${hint}`;
}

/** The candidate that an unknown name was probably meant to be; empty if none is near. */
export function nearest(name: string, candidates: Array<string>): string {
  if (name.length > MAX_NAME) return "";
  const plain = plainOf(name);
  let best = "";
  let least = min(3, 1 + plain.length / 4);
  for (let i = 0; i < candidates.length; i++) {
    const candidate = unchecked(candidates[i]);
    const away = distance(plain, plainOf(candidate));
    if (away < least) {
      least = away;
      best = candidate;
    }
  }
  return best;
}

/** Whether two names differ in nothing but case and punctuation. */
export function sameName(a: string, b: string): bool {
  let i = nextPlain(a, 0);
  let j = nextPlain(b, 0);
  while (i < a.length && j < b.length) {
    if (lowerAt(a, i) != lowerAt(b, j)) return false;
    i = nextPlain(a, i + 1);
    j = nextPlain(b, j + 1);
  }
  return i == a.length && j == b.length;
}

/** Lower case, letters and digits alone: `intervalMs`, `interval-ms` and `interval_ms` are one. */
function plainOf(name: string): StaticArray<i32> {
  let count = 0;
  for (let i = nextPlain(name, 0); i < name.length; i = nextPlain(name, i + 1)) count++;
  const plain = new StaticArray<i32>(count);
  let at = 0;
  for (let i = nextPlain(name, 0); at < count; i = nextPlain(name, i + 1)) {
    plain[at++] = lowerAt(name, i);
  }
  return plain;
}

/** Position of the first letter or digit (ASCII) from `at`; the length if there is none. */
function nextPlain(name: string, at: i32): i32 {
  for (; at < name.length; at++) {
    const code = lowerAt(name, at);
    if ((code >= 97 && code <= 122) || (code >= 48 && code <= 57)) break;
  }
  return at;
}

function lowerAt(name: string, at: i32): i32 {
  const code = name.charCodeAt(at);
  return code >= 65 && code <= 90 ? code | 32 : code;
}

/** Levenshtein's distance: letters to insert, drop or replace. */
function distance(a: StaticArray<i32>, b: StaticArray<i32>): i32 {
  const row = new StaticArray<i32>(b.length + 1);
  for (let j = 0; j <= b.length; j++) row[j] = j;
  for (let i = 1; i <= a.length; i++) {
    let diagonal = row[0];
    row[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = min(replaced, min(diagonal, row[j - 1]) + 1);
    }
  }
  return row[b.length];
}
