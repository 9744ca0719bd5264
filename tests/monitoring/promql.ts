import type { SyntaxNode } from "@lezer/common";
import { parser } from "@prometheus-io/lezer-promql";

/** A series that a query names. */
export interface Reference {
  name: string;
  /** Labels of its matchers and the values of those with `=`. */
  matchers: { label: string; equals?: string }[];
  /** Labels that aggregations around it keep: `sum by (reason) (…)`. */
  kept: string[];
}

/** What Grafana puts in place of its variables, for a parser. */
export function withoutVariables(expr: string): string {
  return expr.replaceAll("$__rate_interval", "1m").replace(/"\$\w+"/g, '".*"');
}

/**
 * The series of a PromQL expression, by Prometheus' own grammar.
 * @throws where the expression isn't PromQL
 */
export function referencesOf(expr: string): Reference[] {
  const text = (node: SyntaxNode) => expr.slice(node.from, node.to);
  const references: Reference[] = [];
  const visit = (node: SyntaxNode, kept: string[]): void => {
    if (node.type.isError) {
      throw new Error(`no PromQL at character ${node.from}: ${expr}`);
    }
    if (node.name === "VectorSelector") {
      references.push({ name: text(node.getChild("Identifier") ?? node), matchers: [], kept });
    }
    if (node.name === "UnquotedLabelMatcher") {
      const [label, op, value] = [node.firstChild, node.getChild("MatchOp"), node.lastChild];
      if (!label || !op || !value) throw new Error(`odd matcher: ${text(node)}`);
      references.at(-1)?.matchers.push({
        label: text(label),
        ...(text(op) === "=" ? { equals: text(value).slice(1, -1) } : {}),
      });
    }
    let keptBelow = kept;
    if (node.name === "AggregateExpr") {
      const grouping = node.getChild("AggregateModifier")?.getChild("GroupingLabels");
      keptBelow = [...kept, ...(grouping?.getChildren("LabelName").map(text) ?? [])];
    }
    for (let child = node.firstChild; child !== null; child = child.nextSibling) {
      visit(child, keptBelow);
    }
  };
  visit(parser.parse(expr).topNode, []);
  return references;
}
