import {
  RESIDENCY_BYTES,
  advance,
  empty,
  endOfCache,
  renew,
} from "../../../assembly/state/residency";

const CAPACITY: f64 = 1600;
let at: usize = 0;

beforeEach(() => {
  at = heap.alloc(RESIDENCY_BYTES);
  memory.fill(at, 0, RESIDENCY_BYTES);
});

/** A prompt of which `cached` tokens, last used at `stamp`, were there, and `fresh` are new; returns the clock after it. */
function use(clock: f64, stamp: f64, cached: f64, fresh: f64): f64 {
  advance(at, clock, CAPACITY);
  if (cached > 0) renew(at, stamp, cached, CAPACITY);
  advance(at, clock + fresh, CAPACITY);
  return clock + fresh;
}

describe("Residency", () => {
  it("holds all until the capacity is reached", () => {
    advance(at, 1600, CAPACITY);
    expect(endOfCache(at, load<f64>(at), CAPACITY)).toBe(-Infinity);
  });

  it("of new tokens alone holds the last ones", () => {
    for (let clock: f64 = 160; clock <= 4800; clock += 160) advance(at, clock, CAPACITY);
    expect(endOfCache(at, load<f64>(at), CAPACITY)).toBe(3200);
    expect(endOfCache(at, load<f64>(at), CAPACITY / 2)).toBe(4000);
    expect(endOfCache(at, 4960, CAPACITY)).toBe(3360);
    expect(endOfCache(at, 9600, CAPACITY)).toBe(8000);
  });

  it("counts tokens used again as used last, and once", () => {
    // An idle conversation of 800 tokens, then another of 640 that goes on and on: both fit for ever.
    use(0, 0, 0, 800);
    let clock = use(800, 0, 0, 640);
    let stamp: f64 = 800;
    for (let turn = 0; turn < 100; turn++) {
      const next = use(clock, stamp, 640, 0);
      stamp = clock;
      clock = next;
    }
    expect(endOfCache(at, load<f64>(at), CAPACITY)).toBe(-Infinity);
  });

  it("drops what was idle while others were used, though little was new", () => {
    // Three conversations of 640 tokens in 1600: the one that rests while the two others go on is gone, they are not.
    let clock: f64 = 0;
    const stamps = new StaticArray<f64>(3);
    for (let i = 0; i < 3; i++) {
      unchecked((stamps[i] = clock));
      clock = use(clock, 0, 0, 640);
    }
    for (let turn = 0; turn < 4; turn++) {
      const i = 1 + (turn & 1);
      const stamp = unchecked(stamps[i]);
      unchecked((stamps[i] = clock));
      clock = use(clock, stamp, 640, 32);
    }
    const end = endOfCache(at, load<f64>(at), CAPACITY);
    expect(end).toBeGreaterThan(stamps[0]);
    expect(end).toBeLessThan(min(stamps[1], stamps[2]));
  });

  it("starts anew after a flush, and never takes more room than it has", () => {
    for (let i = 1; i <= 1000; i++) use(<f64>i * 200, <f64>(i - 1) * 200, 100, 37);
    expect(load<i32>(at + 8)).toBeLessThan(25);
    const clock = load<f64>(at);
    expect(clock - endOfCache(at, load<f64>(at), CAPACITY)).toBeLessThan(CAPACITY + 1);
    empty(at, clock);
    expect(endOfCache(at, load<f64>(at), CAPACITY)).toBe(-Infinity);
  });
});
