import { text } from "../../../assembly/bytes";
import { BodyStatus } from "../../../assembly/body/facts";
import { RequestReader } from "../../../assembly/body/request";
import { hashBytes } from "../../../assembly/prefix/hash";
import { chat, defaultFields, lastId, read, readInto, same } from "./reading";

function hashOf(s: string): u64 {
  const t = text(s);
  return hashBytes(t.ptr, t.len);
}

function modelOf(reader: RequestReader): string {
  return String.UTF8.decodeUnsafe(reader.facts.modelPtr, reader.facts.modelLen);
}

function cap(fields: string): u32 {
  return read('{"prompt":"x",' + fields + "}").facts.outputCap;
}

function chars(body: string): u32 {
  return read(body).facts.promptCodePoints;
}

describe("settings", () => {
  it("reads the model at the top only, the last one", () => {
    expect(modelOf(read('{"a":{"model":"x"},"model":"first","model":"m","prompt":"p"}'))).toBe("m");
    expect(modelOf(read('{"model":"m","model":5,"prompt":"p"}'))).toBe("");
    expect(modelOf(read('{"\\u006dodel":"m\\u006d","prompt":"p"}'))).toBe("mm");
    const long = "m".repeat(300);
    const reader = read('{"model":"' + long + '","prompt":"p"}');
    expect(modelOf(reader)).toBe(long.substr(0, 256));
    expect(reader.facts.modelHash).toBe(hashOf(long));
  });

  it("finds the output limit under any name", () => {
    expect(cap('"max_tokens":16')).toBe(16);
    expect(cap('"max_tokens":16,"max_completion_tokens":8')).toBe(8);
    expect(cap('"max_completion_tokens":8,"max_tokens":16')).toBe(8);
    expect(cap('"max_output_tokens":9')).toBe(9);
    expect(cap('"parameters":{"max_new_tokens":10}')).toBe(10);
    expect(cap('"sampling_params":{"max_new_tokens":11}')).toBe(11);
    expect(cap('"n_predict":12')).toBe(12);
  });

  it("takes limits that say nothing as absent", () => {
    expect(cap('"n_predict":-1')).toBe(0);
    expect(cap('"max_tokens":1e400')).toBe(0);
    expect(cap('"max_tokens":null')).toBe(0);
    expect(cap('"max_tokens":"9"')).toBe(0);
    expect(cap('"max_tokens":9,"max_tokens":null')).toBe(0);
    expect(cap('"parameters":{"max_new_tokens":10},"parameters":{}')).toBe(0);
    expect(cap('"max_tokens":1e12')).toBe(i32.MAX_VALUE);
    expect(cap('"max_tokens":2.56e2')).toBe(256);
  });

  it("bounds the answers asked for", () => {
    expect(read('{"prompt":"x","n":3,"best_of":5}').facts.n).toBe(3);
    expect(read('{"prompt":"x","n":3,"best_of":5}').facts.bestOf).toBe(5);
    expect(read('{"prompt":"x","n":-3,"best_of":1e9}').facts.n).toBe(1);
    expect(read('{"prompt":"x","n":-3,"best_of":1e9}').facts.bestOf).toBe(1024);
  });

  it("seeds by adapter and salt", () => {
    const facts = read(
      '{"prompt":"x","lora_path":"a","cache_salt":"s","user":"u","stream":true}',
    ).facts;
    expect(facts.adapterHash).toBe(hashOf("a"));
    expect(facts.cacheSaltHash).toBe(hashOf("s"));
    expect(facts.userHash).toBe(hashOf("u"));
    expect(facts.stream).toBe(true);
  });
});

describe("sessions", () => {
  it("ranks the fields", () => {
    const facts = read(
      '{"prompt":"x","session_id":"s","conversation":{"id":"c"},"metadata":{"session_id":"m"}}',
    ).facts;
    expect(facts.sessionHash).toBe(hashOf("c"));
    expect(facts.sessionRank).toBe(1);
    expect(read('{"prompt":"x","metadata":{"session_id":"m"}}').facts.sessionRank).toBe(4);
  });

  it("knows a response id for what it is", () => {
    const facts = read('{"input":"x","previous_response_id":"r-1"}').facts;
    expect(facts.sessionIsResponseId).toBe(true);
    expect(facts.previousResponseIdHash).toBe(hashOf("r-1"));
  });

  it("takes only the session of a user id", () => {
    const facts = read(
      '{"prompt":"x","metadata":{"user_id":"user_1_account_2_session_s-9"}}',
    ).facts;
    expect(facts.sessionHash).toBe(hashOf("s-9"));
    expect(read('{"prompt":"x","metadata":{"user_id":"somebody"}}').facts.sessionHash).toBe(0);
  });

  it("takes what is empty, not a string or overwritten as absent", () => {
    expect(read('{"prompt":"x","session_id":""}').facts.sessionRank).toBe(-1);
    expect(read('{"prompt":"x","session_id":5}').facts.sessionRank).toBe(-1);
    expect(
      read('{"prompt":"x","metadata":{"session_id":"m"},"metadata":null}').facts.sessionRank,
    ).toBe(-1);
  });
});

describe("prompts", () => {
  it("counts the text of every API", () => {
    expect(chars(chat('{"role":"user","content":"né"}'))).toBe(2);
    expect(chars('{"prompt":"abc"}')).toBe(3);
    expect(chars('{"prompt":["abc","de"]}')).toBe(5);
    expect(chars('{"input":"abc","instructions":"de"}')).toBe(5);
    expect(
      chars('{"input":[{"role":"user","content":[{"type":"input_text","text":"abc"}]}]}'),
    ).toBe(3);
    expect(
      chars('{"system":[{"type":"text","text":"ab"}],"messages":[{"role":"user","content":"c"}]}'),
    ).toBe(3);
    expect(chars('{"inputs":"abcd","parameters":{}}')).toBe(4);
    expect(chars('{"text":"abcd"}')).toBe(4);
  });

  it("counts arguments and results of tools, not names and ids", () => {
    const call =
      '{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"tide","arguments":"{\\"day\\":1}"}}]}';
    expect(chars(chat(call))).toBe(9);
    expect(chars(chat('{"role":"tool","tool_call_id":"c1","content":"high"}'))).toBe(4);
    expect(chars('{"input":[{"type":"function_call_output","call_id":"x","output":"high"}]}')).toBe(
      4,
    );
    const use =
      '{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"tide","input":{ "day" : "fri" }}]}';
    expect(chars(chat(use))).toBe(13);
    const result =
      '{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"high"}]}]}';
    expect(chars(chat(result))).toBe(4);
  });

  it("counts token ids", () => {
    expect(read('{"prompt":[1,2,3]}').facts.tokenIds).toBe(3);
    const nested = read('{"prompt":[[1,2,3],[4]]}').facts;
    expect(nested.tokenIds).toBe(4);
    expect(nested.prompts).toBe(2);
    expect(read('{"input_ids":[1,2]}').facts.tokenIds).toBe(2);
  });

  it("counts images and sounds apart", () => {
    const parts =
      '{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}},' +
      '{"type":"input_audio","input_audio":{"data":"UklG","format":"wav"}},{"type":"text","text":"what"}]}';
    const facts = read(chat(parts)).facts;
    expect(facts.promptCodePoints).toBe(4);
    expect(facts.images).toBe(1);
    expect(facts.audios).toBe(1);
  });

  it("says how the body could be read", () => {
    expect(<i32>read('{"prompt":"x"}').facts.status).toBe(<i32>BodyStatus.Complete);
    expect(<i32>read('{"prompt":""}').facts.status).toBe(<i32>BodyStatus.NoPrompt);
    expect(<i32>read('["prompt"]').facts.status).toBe(<i32>BodyStatus.NoPrompt);
    expect(<i32>read('{"prompt":"x"} x').facts.status).toBe(<i32>BodyStatus.Malformed);
    expect(<i32>read("").facts.status).toBe(<i32>BodyStatus.Malformed);
    expect(read('{"model":"m","prompt":"x"} x').facts.modelHash).toBe(0);
  });
});

describe("content", () => {
  it("is what counts, not its spelling", () => {
    const plain = chat('{"role":"user","content":"Hi A"}');
    expect(
      same(plain, ' {"messages" : [ { "content":"Hi \\u0041", "role":"user" } ], "model":"m" }'),
    ).toBe(true);
    expect(same(plain, chat('{"role":"user","content":[{"type":"text","text":"Hi A"}]}'))).toBe(
      true,
    );
    expect(same(plain, chat('{"role":"user","content":"no","content":"Hi A"}'))).toBe(true);
    expect(
      same(
        plain,
        '{"messages":[{"role":"user","content":"no"}],"messages":[{"role":"user","content":"Hi A"}]}',
      ),
    ).toBe(true);
    expect(
      same(
        plain,
        chat('{"role":"user","content":[{"text":"Hi A","cache_control":{"type":"ephemeral"}}]}'),
      ),
    ).toBe(true);
  });

  it("differs by role, parts, tools, images and calls", () => {
    const bodies: string[] = [
      chat('{"role":"user","content":"ab"}'),
      chat('{"role":"system","content":"ab"}'),
      chat('{"role":"user","content":[{"text":"a"},{"text":"b"}]}'),
      chat('{"role":"user","content":"a"},{"role":"user","content":"b"}'),
      '{"messages":[{"role":"user","content":"ab"}],"tools":[{"a":1}]}',
      '{"messages":[{"role":"user","content":"ab"}],"system":"ab"}',
      chat('{"role":"user","content":[{"image_url":{"url":"x"}},{"text":"ab"}]}'),
      chat('{"role":"user","content":[{"text":"ab"},{"image_url":{"url":"x"}}]}'),
      chat('{"role":"user","content":[{"text":"ab"},{"image_url":{"url":"y"}}]}'),
      chat(
        '{"role":"user","content":"ab","tool_calls":[{"function":{"name":"f","arguments":"1"}}]}',
      ),
      chat(
        '{"role":"user","content":"ab","tool_calls":[{"function":{"name":"g","arguments":"1"}}]}',
      ),
      chat('{"role":"user","content":"ab","reasoning_content":"c"}'),
    ];
    const seen = new Set<u64>();
    for (let i = 0; i < bodies.length; i++) seen.add(lastId(read(bodies[i])));
    expect(seen.size).toBe(bodies.length);
  });

  it("is shared up to the end of the last turn", () => {
    const first = '{"role":"user","content":"Rename it."}';
    const a = read(chat(first));
    const b = read(
      chat(first + ',{"role":"assistant","content":"Done."},{"role":"user","content":"Now test."}'),
    );
    for (let i = 0; i < a.chain.length; i++) expect(a.chain.ids[i]).toBe(b.chain.ids[i]);
    expect(b.chain.length).toBeGreaterThan(a.chain.length);
  });

  it("is found again inside long text", () => {
    const start = "It was a dark and stormy night on the harbour wall. ".repeat(40);
    const a = read('{"prompt":"' + start + 'One."}').chain;
    const b = read('{"prompt":"' + start + 'Two."}').chain;
    let shared: u32 = 0;
    for (let i = 0; i < min(a.length, b.length) && a.ids[i] == b.ids[i]; i++) shared = a.bytes[i];
    expect(shared >= <u32>(start.length - start.length / 8)).toBe(true);
    expect(shared <= <u32>start.length).toBe(true);
  });
});

describe("RequestReader", () => {
  it("keeps nothing of the body before", () => {
    const reader = new RequestReader();
    readInto(
      reader,
      '{"model":"a","system":"s","tools":[{}],"session_id":"s","messages":[{"role":"user","content":"x"}],"max_tokens":5}',
    );
    readInto(reader, '{"prompt":"y"}');
    const fresh = read('{"prompt":"y"}');
    expect(lastId(reader)).toBe(lastId(fresh));
    expect(reader.facts.modelLen).toBe(0);
    expect(reader.facts.sessionHash).toBe(0);
    expect(reader.facts.outputCap).toBe(0);
    expect(reader.facts.toolsHash).toBe(0);
  });

  it("counts what it saw of a body that is cut off", () => {
    const bytes = text(
      '{"model":"m","messages":[{"role":"user","content":"' + "harbour ".repeat(100),
    );
    const reader = new RequestReader();
    reader.begin(defaultFields());
    reader.feed(bytes.ptr, bytes.len);
    reader.finish(true);
    expect(<i32>reader.facts.status).toBe(<i32>BodyStatus.Truncated);
    expect(reader.facts.promptBytes).toBe(800);
    reader.seal(1);
    expect(reader.chain.length).toBe(3);
    expect(reader.facts.firstUserHash != 0).toBe(true);
  });
});
