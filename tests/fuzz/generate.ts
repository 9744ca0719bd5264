/** Random request bodies of all the APIs, as JSON text spelled at random. */
import type { Random } from "./random.ts";
import { LENGTHS, LIMITS, NAMES, NONCES, NUMBERS, USER_IDS, WORDS } from "./words.ts";

/** A value as JSON text. */
type Text = string;
type Pairs = [key: string, value: Text][];
type Make = () => Text;

export class Generator {
  private readonly random: Random;

  constructor(random: Random) {
    this.random = random;
  }

  body(): Uint8Array {
    const pairs: Pairs = [];
    const add = this.adder(pairs, 0.04);
    add(0.9, "model", () => this.oneOf(["m", "qwen3", "東"]));
    add(0.7, "messages", () => this.list(4, () => this.message()));
    add(0.2, "prompt", () => this.prompt());
    add(0.2, "input", () =>
      this.either(
        () => this.prompt(),
        () => this.list(3, () => this.message()),
      ),
    );
    add(0.1, this.random.pick(["inputs", "text", "input_ids"]), () => this.prompt());
    add(0.05, this.random.pick(["text_input", "token_ids", "documents", "text_2"]), () =>
      this.prompt(),
    );
    add(0.05, this.random.pick(["query", "text_1"]), () => this.words());
    add(0.05, this.random.pick(["image_data", "audio_data", "multi_modal_data"]), () =>
      this.either(
        () => this.words(),
        () => this.list(3, () => this.words()),
        () => this.object([["image", this.words()]]),
      ),
    );
    add(0.3, "system", () =>
      this.either(
        () => this.words(),
        () => this.list(3, () => this.part(1)),
      ),
    );
    add(0.1, "instructions", () => this.words());
    add(0.3, "tools", () => this.list(3, () => this.anything(4)));
    add(0.1, "functions", () => this.list(2, () => this.anything(3)));
    add(0.3, "stream", () => (this.chance(0.7) ? "true" : "false"));
    for (const key of LIMITS) add(0.15, key, () => this.number());
    for (const key of NAMES) add(0.15, key, () => this.oneOf(["", "s-1", "s-2"]));
    add(0.1, "conversation", () => this.oneOf(["c-1", ""]));
    add(0.1, "conversation", () =>
      this.object([
        [
          "id",
          this.either(
            () => this.oneOf(["c-1"]),
            () => "4",
          ),
        ],
      ]),
    );
    add(0.3, "metadata", () => this.metadata());
    add(0.2, this.random.pick(["parameters", "sampling_params"]), () =>
      this.object([
        [this.random.pick(["max_new_tokens", "max_tokens"]), this.number()],
        ["best_of", this.number()],
        ["n", this.number()],
      ]),
    );
    add(0.2, "unknown", () => this.anything(3));
    return new TextEncoder().encode(this.object(pairs));
  }

  private metadata(): Text {
    const pairs: Pairs = [];
    const add = this.adder(pairs, 0.1);
    add(0.5, "user_id", () => this.oneOf(USER_IDS));
    add(0.3, "session_id", () => this.oneOf(["", "s-3"]));
    add(0.3, "conversation_id", () => this.oneOf(["", "c-3"]));
    add(0.3, "model", () => this.oneOf(["no"]));
    return this.object(pairs);
  }

  private prompt(): Text {
    const ids = () => this.list(40, () => this.number());
    return this.either(
      () => this.words(),
      () => this.list(4, () => this.words()),
      ids,
      () => this.list(3, ids),
      () =>
        this.list(4, () =>
          this.either(
            () => this.words(),
            () => this.number(),
            () => "null",
            ids,
          ),
        ),
    );
  }

  private message(): Text {
    const pairs: Pairs = [];
    const add = this.adder(pairs, 0.05);
    const parts = () => this.list(4, () => this.part(1));
    add(0.9, "role", () => this.oneOf(["user", "assistant", "system", "tool", "developer"]));
    add(0.9, "content", () => this.either(() => this.words(), parts));
    add(0.1, "name", () => this.oneOf(["ann", "bob"]));
    add(0.1, "type", () => this.oneOf(["message", "function_call", "reasoning"]));
    add(0.1, this.random.pick(["reasoning_content", "reasoning", "thinking", "refusal"]), () =>
      this.words(),
    );
    add(0.2, "tool_calls", () => this.list(3, () => this.call()));
    add(0.05, "function_call", () => this.call());
    add(0.1, this.random.pick(["arguments", "input"]), () => this.anything(3));
    add(0.1, this.random.pick(["output", "summary"]), parts);
    add(0.05, this.random.pick(["outputs", "stdout", "stderr", "logs"]), parts);
    add(0.05, this.random.pick(["action", "code", "result", "uuid", "encrypted_content"]), () =>
      this.either(
        () => this.words(),
        () => this.anything(2),
      ),
    );
    add(0.05, "images", () => this.list(2, () => this.oneOf(["QUJD", "REVG"])));
    add(0.2, this.random.pick(["id", "tool_call_id", "cache_control"]), () => this.anything(1));
    return this.object(pairs);
  }

  private call(): Text {
    const input = () =>
      this.either(
        () => this.spell('{"day":"fri"}'),
        () => this.anything(3),
      );
    return this.object([
      ["id", this.words()],
      ["type", this.spell("function")],
      [
        "function",
        this.object([
          ["name", this.spell("tide")],
          ["arguments", input()],
        ]),
      ],
    ]);
  }

  private part(depth: number): Text {
    const typed = (type: string, ...pairs: Pairs) =>
      this.object([["type", this.spell(type)], ...pairs]);
    const url = () =>
      this.object([
        ["url", this.oneOf(["data:image/png;base64,QUJD", "http://x/1"])],
        ["detail", this.spell("low")],
      ]);
    const source = () =>
      this.object([
        ["type", this.oneOf(["base64", "text", "url"])],
        ["media_type", this.spell("image/png")],
        ["data", this.oneOf(["QUJD", "plain text", ""])],
      ]);
    const deeper = () => this.list(2, () => this.part(depth + 1));
    return this.either(
      () => typed("text", ["text", this.words()]),
      () => typed("text", ["text", this.words()], ["cache_control", this.anything(1)]),
      () => typed("image_url", ["image_url", this.either(url, () => this.oneOf(["http://x/2"]))]),
      () => typed("image", ["source", source()]),
      () => typed("input_file", ["file_url", this.oneOf(["http://x/3", ""])]),
      () => typed("video", ["video", this.list(2, () => this.oneOf(["QUJD", "REVG"]))]),
      () => typed("image_url", ["image_url", "null"], ["uuid", this.oneOf(["u-1", "u-2"])]),
      () => typed("logs", [this.random.pick(["logs", "stdout", "stderr"]), this.words()]),
      () =>
        typed("search_result", ["source", this.oneOf(["http://x/4"])], ["content", this.words()]),
      () => typed("input_audio", ["input_audio", this.object([["data", this.spell("UklG")]])]),
      () => typed("thinking", ["thinking", this.words()], ["signature", this.spell("x")]),
      () =>
        typed(
          "tool_use",
          ["id", this.words()],
          ["name", this.spell("tide")],
          ["input", this.anything(3)],
        ),
      () => typed("tool_result", ["content", depth < 9 ? deeper() : this.spell("x")]),
      () => typed("tool_result", ["content", this.words()]),
      () =>
        this.object([
          ["text", this.words()],
          ["thinking", this.words()],
        ]),
      () => this.anything(2),
    );
  }

  private words(): Text {
    if (this.chance(0.05)) return this.oneOf(NONCES);
    return this.spell(this.random.pick(WORDS).repeat(this.random.pick(LENGTHS)));
  }

  private number(): Text {
    return this.random.pick(NUMBERS);
  }

  private anything(depth: number): Text {
    const deeper = depth - 1;
    if (depth > 0 && this.chance(0.3)) return this.list(3, () => this.anything(deeper));
    if (depth > 0 && this.chance(0.4)) {
      return this.object([
        ["a", this.anything(deeper)],
        [this.random.pick(["text", "image_url"]), this.anything(deeper)],
        ["id", "5"],
      ]);
    }
    return this.either(
      () => "null",
      () => "true",
      () => "false",
      () => this.number(),
      () => this.words(),
    );
  }

  /** Adds a pair with a given chance: of another type with the chance `odd`, now and then twice. */
  private adder(pairs: Pairs, odd: number): (share: number, key: string, make: Make) => void {
    return (share, key, make) => {
      if (!this.chance(share)) return;
      pairs.push([key, this.chance(odd) ? this.anything(2) : make()]);
      if (this.chance(0.03)) pairs.push([key, make()]);
    };
  }

  private oneOf(texts: readonly string[]): Text {
    return this.spell(this.random.pick(texts));
  }

  private either(...makes: Make[]): Text {
    return this.random.pick(makes)();
  }

  private list(most: number, make: Make): Text {
    const items = Array.from({ length: this.random.below(most + 1) }, make);
    return `[${this.space()}${items.join(`,${this.space()}`)}]`;
  }

  private object(pairs: Pairs): Text {
    const order = pairs.slice();
    for (let i = order.length - 1; i > 0; i--) {
      const j = this.random.below(i + 1);
      const swapped = order[i];
      if (swapped && order[j]) [order[i], order[j]] = [order[j], swapped];
    }
    const texts = order.map(
      ([key, value]) => `${this.spell(key)}${this.space()}:${this.space()}${value}`,
    );
    return `{${texts.join(`,${this.space()}`)}${this.space()}}`;
  }

  /** A string, some of its characters as escapes. */
  private spell(text: string): Text {
    const share = this.random.pick([0, 0, 0, 0.1, 1]);
    const units = Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
    if (share === 0) return JSON.stringify(text);
    const whole = share === 1 || !/[\ud800-\udfff]/.test(text);
    return `"${units
      .map((unit) => {
        const mustEscape = unit < 0x20 || unit === 0x22 || unit === 0x5c;
        if (mustEscape || (whole && this.chance(share))) {
          return `\\u${unit.toString(16).padStart(4, "0")}`;
        }
        return String.fromCharCode(unit);
      })
      .join("")}"`;
  }

  private space(): string {
    return this.chance(0.1) ? this.random.pick([" ", "\n  ", "\t"]) : "";
  }

  private chance(share: number): boolean {
    return this.random.next() < share;
  }
}
