import { Peek, peek } from "../../../assembly/body/usagepeek";
import { UsageReader } from "../../../assembly/body/usage";
import { text } from "../../../assembly/bytes";
import { hashBytes } from "../../../assembly/prefix/hash";

const reader = new UsageReader();

/** `prompt/completion/cached/events`, with `.` once the end was seen. */
function read(answer: string, isEventStream: bool): string {
  const bytes = text(answer);
  reader.begin(isEventStream);
  reader.feed(bytes.ptr, bytes.len);
  reader.finish();
  return (
    reader.promptTokens.toString() +
    "/" +
    reader.completionTokens.toString() +
    "/" +
    reader.cachedTokens.toString() +
    "/" +
    reader.outputEvents.toString() +
    (reader.sawDone ? "." : "")
  );
}

function look(event: string): i32 {
  const bytes = text(event);
  return peek(bytes.ptr, bytes.len);
}

describe("usage in answers", () => {
  it("is read from JSON", () => {
    expect(
      read(
        '{"id":"a","usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":8}}}',
        false,
      ),
    ).toBe("9/2/8/0.");
    const id = text("a");
    expect(reader.idHash).toBe(hashBytes(id.ptr, id.len));
  });

  it("is read from streams, the last one counts", () => {
    expect(
      read(
        'data: {"id":"a","choices":[{"delta":{"content":"x"}}],"usage":null}\n\n' +
          'data: {"id":"a","usage":{"prompt_tokens":9,"completion_tokens":1}}\n\n' +
          'data: {"id":"b","usage":{"prompt_tokens":9,"completion_tokens":2}}\n\ndata: [DONE]\n\n',
        true,
      ),
    ).toBe("9/2/-1/1.");
    const id = text("a");
    expect(reader.idHash).toBe(hashBytes(id.ptr, id.len));
  });

  it("forgets the last answer", () => {
    expect(read('{"x":1}', false)).toBe("-1/-1/-1/0.");
    expect(reader.idHash).toBe(0);
    expect(read("data: {}\n\n", true)).toBe("-1/-1/-1/0");
  });
});

describe("a look at an event", () => {
  it("finds keys, not text", () => {
    expect(look('{"usage":{"x":1}}')).toBe(Peek.Counts);
    expect(look('{"usage" : {}}')).toBe(Peek.Counts);
    expect(look('{"usage":null}')).toBe(Peek.Nothing);
    expect(look('{"x":"usage","y":"\\"usage\\":{"}')).toBe(Peek.Nothing);
    expect(look('{"my_usage":{}}')).toBe(Peek.Nothing);
    expect(look('{"tokens_evaluated":3}')).toBe(Peek.Counts);
    expect(look('{"id":"x"}')).toBe(Peek.Id);
    expect(look('{"id":3}')).toBe(Peek.Nothing);
    expect(look('{"delta":{"content":""}}')).toBe(Peek.Nothing);
    expect(look('{"delta":{"content":"a"}}')).toBe(Peek.Content);
    expect(look('{"id":"x","delta":"a","usage":{}}')).toBe(Peek.Id | Peek.Content | Peek.Counts);
    expect(look('"')).toBe(Peek.Nothing);
    expect(look('"usage"')).toBe(Peek.Nothing);
    expect(look('"usage":')).toBe(Peek.Nothing);
  });
});
