/** What is used of the library's interface; it has no types of its own. */
declare module "parse-prometheus-text-format" {
  export default function parse(text: string): {
    name: string;
    metrics: { value?: string; labels?: Record<string, string> }[];
  }[];
}
