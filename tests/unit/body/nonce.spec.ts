import { chat, lastId, read, same } from "./reading";

/** System text in two parts, of which the first is given. */
function system(first: string): string {
  return (
    '{"system":[{"text":"' +
    first +
    '"},{"text":"You help."}],"messages":[{"role":"user","content":"x"}]}'
  );
}

describe("the nonce line", () => {
  it("doesn't count ahead of a system prompt", () => {
    const a = read(system("x-anthropic-billing-header: cch=1;"));
    const b = read(system("x-anthropic-billing-header: cch=2;"));
    expect(lastId(a)).toBe(lastId(b));
    expect(a.facts.nonceSkipped).toBe(true);
    expect(a.facts.nonceBytes).toBe(34);
    expect(a.facts.promptCodePoints).toBe(10);
  });

  it("counts anywhere else", () => {
    const line: string = "x-anthropic-billing-header: cch=";
    expect(
      same(
        chat('{"role":"user","content":"' + line + '1"}'),
        chat('{"role":"user","content":"' + line + '2"}'),
      ),
    ).toBe(false);
    expect(same(system("a\\n" + line + "1"), system("a\\n" + line + "2"))).toBe(false);
    expect(read(chat('{"role":"user","content":"' + line + '1"}')).facts.promptCodePoints).toBe(33);
  });

  it("is one line", () => {
    const facts = read('{"system":"x-anthropic-billing-header: 1\\nYou help.","prompt":"x"}').facts;
    expect(facts.promptCodePoints).toBe(10);
  });
});
