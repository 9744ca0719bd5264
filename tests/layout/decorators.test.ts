import assert from "node:assert/strict";
import test from "node:test";
import { hideDecorators, showDecorators } from "../../tools/assemblyscript.ts";

test("decorators become comments on lines of their own, and come back", () => {
  const cases: [source: string, hidden: string, shown: string][] = [
    ["@inline\nfunction f(): void {}\n", "//:as @inline\nfunction f(): void {}\n", ""],
    ["@lazy const k: i32 = 3;\n", "//:as @lazy\nconst k: i32 = 3;\n", "@lazy\nconst k: i32 = 3;\n"],
    [
      '  @external("env", "f")\n  @unsafe declare function f(): void;\n',
      '  //:as @external("env", "f")\n  //:as @unsafe\n  declare function f(): void;\n',
      '  @external("env", "f")\n  @unsafe\n  declare function f(): void;\n',
    ],
    ["// mail@inline.example\n", "// mail@inline.example\n", ""],
  ];
  for (const [source, hidden, shown] of cases) {
    assert.equal(hideDecorators(source), hidden);
    assert.equal(showDecorators(hidden), shown || source);
  }
});
