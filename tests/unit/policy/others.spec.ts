import { Candidates } from "../../../assembly/policy/candidates";
import { Others } from "../../../assembly/policy/others";
import { Overview } from "../../../assembly/policy/overview";

function busy(own: f64, others: f64): Overview {
  const c = new Candidates();
  c.count = 2;
  for (let slot = 0; slot < 2; slot++) {
    c.usable[slot] = 1;
    c.inFlight[slot] = own;
    c.running[slot] = others;
    c.waiting[slot] = 0;
    c.freshness[slot] = 1;
  }
  const overview = new Overview();
  overview.take(c);
  return overview;
}

describe("Others", () => {
  it("are there until the contrary shows", () => {
    expect(new Others().weight).toBe(1);
    const others = new Others();
    others.note(busy(0, 0));
    expect(others.weight).toBe(1);
    others.note(busy(NaN, NaN));
    expect(others.weight).toBe(1);
  });

  it("are not there for a gateway alone, though reports lag behind", () => {
    const others = new Others();
    for (let i = 0; i < 20; i++) others.note(busy(10, 1));
    expect(others.weight).toBe(0);
  });

  it("count in full from one other gateway on", () => {
    const others = new Others();
    for (let i = 0; i < 20; i++) others.note(busy(5, 5));
    expect(others.weight).toBe(1);
  });

  it("are noticed when they come", () => {
    const others = new Others();
    for (let i = 0; i < 500; i++) others.note(busy(10, 0));
    for (let i = 0; i < 100; i++) others.note(busy(5, 5));
    expect(others.weight).toBe(1);
  });

  it("are agreed with where hardly anything is in flight, though there are none: it costs no time", () => {
    const others = new Others();
    for (let i = 0; i < 20; i++) others.note(busy(10, 1));
    expect(others.agreement(busy(0, 0))).toBe(1);
    expect(others.agreement(busy(3, 0))).toBe(0.5);
    expect(others.agreement(busy(30, 0))).toBe(1 / 101);
  });
});
