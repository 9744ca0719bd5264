import { Talkers } from "../../../assembly/admission/talkers";

/** Place of a tenant, −1 for none. */
function find(talkers: Talkers, tenant: u64): i32 {
  for (let i = 0; i < talkers.count; i++) if (talkers.tenantAt(i) == tenant) return i;
  return -1;
}

describe("talkers", () => {
  it("follows whoever has much of the work among any number of others", () => {
    const talkers = new Talkers();
    for (let i: u64 = 1; i <= 100000; i++) talkers.note(i % 10 == 0 ? 7 : 1000 + i, 1);
    const at = find(talkers, 7);
    expect(at).toBeGreaterThan(-1);
    expect(talkers.shareAt(at)).toBeGreaterThan(0.099);
    expect(talkers.shareAt(at)).toBeLessThan(0.12);
    expect(talkers.count).toBe(64);
  });

  it("loses no work", () => {
    const talkers = new Talkers();
    for (let i: u64 = 0; i < 5000; i++) talkers.note(i % 321, 2);
    let sum = talkers.takeLost();
    for (let i = 0; i < talkers.count; i++) sum += talkers.takeAt(i);
    expect(sum).toBe(10000);
    expect(talkers.takeAt(0)).toBe(0);
  });

  it("sees who comes later", () => {
    const talkers = new Talkers();
    for (let i = 0; i < 1000; i++) talkers.note(1, 100);
    for (let round = 0; round < 10; round++) {
      talkers.halve();
      talkers.note(2, 1000);
    }
    expect(talkers.shareAt(find(talkers, 2))).toBeGreaterThan(0.9);
  });
});
