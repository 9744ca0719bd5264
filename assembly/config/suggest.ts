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
  return a.length <= MAX_NAME && plainOf(a) == plainOf(b);
}

/** Lower case, letters and digits alone: `intervalMs`, `interval-ms` and `interval_ms` are one. */
function plainOf(name: string): string {
  let plain = "";
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i);
    const lower = code >= 65 && code <= 90 ? code | 32 : code;
    if ((lower >= 97 && lower <= 122) || (lower >= 48 && lower <= 57)) {
      plain += String.fromCharCode(lower);
    }
  }
  return plain;
}

/** Levenshtein's distance: letters to insert, drop or replace. */
function distance(a: string, b: string): i32 {
  const row = new StaticArray<i32>(b.length + 1);
  for (let j = 0; j <= b.length; j++) row[j] = j;
  for (let i = 1; i <= a.length; i++) {
    let diagonal = row[0];
    row[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const replaced = diagonal + (a.charCodeAt(i - 1) == b.charCodeAt(j - 1) ? 0 : 1);
      diagonal = row[j];
      row[j] = min(replaced, min(diagonal, row[j - 1]) + 1);
    }
  }
  return row[b.length];
}
