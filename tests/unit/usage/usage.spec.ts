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

/** Whom an answer's error blames. */
function blames(answer: string, isEventStream: bool): string {
  read(answer, isEventStream);
  const names = ["nobody", "request", "busy", "server"];
  return names[<i32>reader.error];
}

describe("an error in an answer with status 200", () => {
  it("is found wherever engines put it, whole or as an event", () => {
    const server = [
      '{"error":{"message":"engine dead"}}',
      '{"error":{"message":"m","type":"InternalServerError","param":null,"code":500}}',
      '{"error":{"message":"m","code":"server_error"}}',
      '{"error":"Request failed during generation","error_type":"generation"}',
      '{"object":"error","message":"m","code":50001}',
      '{"type":"response.failed","response":{"id":"r","error":{"code":"server_error"}}}',
      '{"type":"error","error":{"type":"api_error","message":"Internal"}}',
      '{"id":"a","choices":[],"error":{"code":"engine","message":"' + "x".repeat(6000) + '"}}',
      '{"error":true}',
    ];
    for (let i = 0; i < server.length; i++) {
      expect(blames(server[i], false)).toBe("server", server[i]);
      if (i == 4 || i == 8) continue;
      expect(blames("data: " + server[i] + "\n\n", true)).toBe("server", server[i]);
    }
  });

  it("may blame the request, or nobody", () => {
    const request = [
      '{"error":{"message":"m","type":"BadRequestError","code":400}}',
      '{"error":{"code":"404","message":"no such model"}}',
      '{"error":{"type":"invalid_request_error","message":"m"}}',
      '{"error":"too many tokens","error_type":"validation"}',
      '{"object":"error","message":"m","type":"NotFoundError","code":404}',
    ];
    for (let i = 0; i < request.length; i++) {
      expect(blames(request[i], false)).toBe("request", request[i]);
    }
    expect(blames('{"error":{"code":429,"message":"m"}}', false)).toBe("busy");
    const event = 'event: error\ndata: {"type":"error","code":"';
    expect(blames(event + 'server_error","message":"m"}\n\n', true)).toBe("server");
    expect(blames(event + 'invalid_prompt","message":"m"}\n\n', true)).toBe("request");
    const overloaded = '{"type":"error","error":{"type":"overloaded_error","message":"m"}}';
    expect(blames("event: error\ndata: " + overloaded + "\n\n", true)).toBe("busy");
  });

  it("isn't seen where there is none", () => {
    const good = [
      '{"id":"r","object":"response","status":"completed","error":null,"output":[]}',
      '{"choices":[{"message":{"content":"{\\"error\\":{\\"code\\":500}}"}}]}',
      '{"choices":[{"error":{"code":500}}]}',
      '{"error":""}',
      '{"error":false}',
      '{"type":"message","content":[{"type":"text","text":"error"}]}',
      '{"errors":{"code":500},"my_error":{}}',
    ];
    for (let i = 0; i < good.length; i++) {
      expect(blames(good[i], false)).toBe("nobody", good[i]);
      expect(blames("data: " + good[i] + "\n\n", true)).toBe("nobody", good[i]);
    }
    expect(blames('data: {"error":{"code":500}}\n\n', true)).toBe("server");
    expect(blames('{"choices":[]}', false)).toBe("nobody", "forgets the last answer");
  });
});
