import { text } from "../../../assembly/bytes";
import { sessionInUserId } from "../../../assembly/body/session";
import { hashBytes } from "../../../assembly/prefix/hash";

function found(id: string): u64 {
  const t = text(id);
  return sessionInUserId(t.ptr, t.len);
}

function hashOf(s: string): u64 {
  const t = text(s);
  return hashBytes(t.ptr, t.len);
}

describe("sessionInUserId", () => {
  it("finds the session in both forms", () => {
    expect(found("user_0a_account_1b_session_2c-3d")).toBe(hashOf("2c-3d"));
    expect(found("user_0a_account__session_2c_3d")).toBe(hashOf("2c_3d"));
    expect(found('{"device_id":"d","account_uuid":"","session_id":"2c-3d"}')).toBe(hashOf("2c-3d"));
    expect(found('{"session_id":"no","session_id":"2c"}')).toBe(hashOf("2c"));
  });

  it("finds none in anything else", () => {
    const others: string[] = [
      "",
      "user",
      "user_1",
      "user_1_session_2",
      "user_1_account_2_session_",
      "x_user_1_account_2_session_3",
      "{",
      "{}",
      '{"session_id":""}',
      '{"session_id":4}',
      '{"a":{"session_id":"x"}}',
      '{"session_id":"x"',
      '{"session_id":"x","session_id":null}',
    ];
    for (let i = 0; i < others.length; i++) expect(found(others[i])).toBe(0, others[i]);
  });
});
