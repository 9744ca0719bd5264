/**
 * The names that messages, their parts and their tool calls use in all the APIs. Anything else in
 * them doesn't count: ids, cache marks, annotations. A key's number is also its slot in a frame.
 */
import { KeyTable } from "./keytable";

export const enum NodeKey {
  Unknown = 0,
  Role,
  Type,
  Content,
  Text,
  // Before the text of a message.
  Name,
  ReasoningContent,
  Reasoning,
  Thinking,
  Summary,
  // Behind it.
  Refusal,
  ToolCalls,
  FunctionCall,
  Function,
  Custom,
  Arguments,
  Input,
  Output,
  // Images.
  ImageUrl,
  Image,
  Images,
  Source,
  VideoUrl,
  File,
  FileData,
  FileId,
  // Sounds.
  InputAudio,
  AudioUrl,
  Audio,
  // Only inside an image or a sound.
  Url,
  Data,
  Id,
  /** An image that the server has already: inside a part it is a `Name`, elsewhere it says nothing. */
  Uuid,
}

/** Slots that lie before a message's text. */
export const HEAD_SLOTS: u32 =
  (1 << NodeKey.Name) |
  (1 << NodeKey.ReasoningContent) |
  (1 << NodeKey.Reasoning) |
  (1 << NodeKey.Thinking) |
  (1 << NodeKey.Summary);

/**
 * The key's number, `Unknown` for any other.
 * @param isPart whether it is a key of a part of a message, not of the message itself
 */
export function nodeKey(ptr: usize, len: i32, isPart: bool): NodeKey {
  const key = <NodeKey>table.find(ptr, len);
  if (key != NodeKey.Uuid) return key;
  return isPart ? NodeKey.Name : NodeKey.Unknown;
}

@inline
export function isImage(key: NodeKey): bool {
  return key >= NodeKey.ImageUrl && key <= NodeKey.FileId;
}

@inline
export function isAudio(key: NodeKey): bool {
  return key >= NodeKey.InputAudio && key <= NodeKey.Audio;
}

/** Whether a string there is text that reaches the prompt, or part of a call's arguments. */
export function holdsText(key: NodeKey): bool {
  switch (key) {
    case NodeKey.Content:
    case NodeKey.Text:
    case NodeKey.ReasoningContent:
    case NodeKey.Reasoning:
    case NodeKey.Thinking:
    case NodeKey.Summary:
    case NodeKey.Refusal:
    case NodeKey.Arguments:
    case NodeKey.Input:
    case NodeKey.Output:
      return true;
    default:
      return false;
  }
}

/** Whether an array there is read part by part. */
export function holdsParts(key: NodeKey): bool {
  switch (key) {
    case NodeKey.Content:
    case NodeKey.Summary:
    case NodeKey.Reasoning:
    case NodeKey.ToolCalls:
    case NodeKey.Output:
      return true;
    default:
      return isImage(key) || isAudio(key);
  }
}

/** Whether an object there is read as a node of its own. */
export function holdsNode(key: NodeKey): bool {
  switch (key) {
    case NodeKey.FunctionCall:
    case NodeKey.Function:
    case NodeKey.Custom:
      return true;
    default:
      return isImage(key) || isAudio(key);
  }
}

/** Whether a value of any kind there is taken by its digest. */
export function holdsValue(key: NodeKey): bool {
  return key == NodeKey.Arguments || key == NodeKey.Input || key == NodeKey.Output;
}

/** Whether an image, a sound or a file has this field. */
export function isMediaField(key: NodeKey): bool {
  switch (key) {
    case NodeKey.Type:
    case NodeKey.Content:
    case NodeKey.Url:
    case NodeKey.Data:
    case NodeKey.Id:
    case NodeKey.FileId:
    case NodeKey.FileData:
      return true;
    default:
      return false;
  }
}

const table = new KeyTable();
table.add("role", NodeKey.Role);
table.add("type", NodeKey.Type);
table.add("content", NodeKey.Content);
table.add("text", NodeKey.Text);
table.add("name", NodeKey.Name);
table.add("reasoning_content", NodeKey.ReasoningContent);
table.add("reasoning", NodeKey.Reasoning);
table.add("thinking", NodeKey.Thinking);
table.add("summary", NodeKey.Summary);
table.add("refusal", NodeKey.Refusal);
table.add("tool_calls", NodeKey.ToolCalls);
table.add("function_call", NodeKey.FunctionCall);
table.add("function", NodeKey.Function);
table.add("custom", NodeKey.Custom);
table.add("arguments", NodeKey.Arguments);
table.add("input", NodeKey.Input);
table.add("output", NodeKey.Output);
table.add("image_url", NodeKey.ImageUrl);
table.add("image", NodeKey.Image);
table.add("images", NodeKey.Images);
table.add("source", NodeKey.Source);
table.add("video_url", NodeKey.VideoUrl);
table.add("file", NodeKey.File);
table.add("file_data", NodeKey.FileData);
table.add("file_id", NodeKey.FileId);
table.add("input_audio", NodeKey.InputAudio);
table.add("audio_url", NodeKey.AudioUrl);
table.add("audio", NodeKey.Audio);
table.add("url", NodeKey.Url);
table.add("data", NodeKey.Data);
table.add("id", NodeKey.Id);
table.add("uuid", NodeKey.Uuid);
// Other names for the same, never beside each other in one object.
table.add("video", NodeKey.VideoUrl);
table.add("image_embeds", NodeKey.Image);
table.add("audio_embeds", NodeKey.Audio);
table.add("file_url", NodeKey.FileId);
table.add("result", NodeKey.Image);
table.add("action", NodeKey.Input);
table.add("operation", NodeKey.Input);
table.add("code", NodeKey.Input);
table.add("outputs", NodeKey.Output);
table.add("logs", NodeKey.Text);
table.add("stdout", NodeKey.Output);
table.add("stderr", NodeKey.Refusal);
table.add("encrypted_content", NodeKey.Name);
