import { random } from "../../tools/seeded.ts";
import type { Conversation } from "../../tools/start/traffic.ts";

const LINES = ["Heron", "Curlew", "Plover", "Dunlin", "Osprey"];
const PLACES = ["Northpier", "Saltmarsh", "Lighthouse", "Old Harbour", "Gull Island", "Westquay"];
const QUESTIONS = [
  "When does the first boat of the day leave, and from where?",
  "I have a bicycle and a large suitcase with me. May I bring both of them on board?",
  "Which boat should I take if I want to be back before the evening?",
  "How many passengers fit on the last boat that you have just told me about?",
  "Thank you. Please sum up for my wife what I should do tomorrow, in one sentence.",
];

/** Starts of conversations are this far apart, in milliseconds. */
const APART_MS = 200;

/**
 * Guests of ferry lines, each with a time-table in the system prompt (about 250 tokens) and five
 * questions, each asked as soon as the one before it was answered.
 */
export function conversations(count: number, maxTokens: number): Conversation[] {
  return Array.from({ length: count }, (_unused, i) => ({
    id: `guest-${i}`,
    tenant: i,
    system: timetable(i),
    turns: QUESTIONS.map((user) => ({ atMs: i * APART_MS, user, maxTokens })),
  }));
}

function timetable(seed: number): string {
  const rand = random(seed + 1);
  const pick = (list: string[]) => list[Math.floor(rand() * list.length)] ?? "";
  const number = (from: number, to: number) => Math.floor(from + rand() * (to - from));
  const boats = Array.from({ length: 9 }, (_unused, i) => {
    const minute = String(number(10, 59));
    return `Boat ${i + 1} leaves ${pick(PLACES)} at ${5 + 2 * i}:${minute} and takes ${number(20, 90)} guests.`;
  });
  const line = LINES[seed % LINES.length];
  return (
    `You answer guests of the ${line} ferry line in one short sentence. ${boats.join(" ")} ` +
    `Bicycles cost ${number(2, 9)} crowns; bags are free.`
  );
}
