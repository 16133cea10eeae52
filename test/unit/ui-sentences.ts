import ts from 'typescript';
import { sourceTree } from './source-tree';

/** Sentences that a person reads in the editor, on a page or in a finding: of the tag `sentence`, and first arguments of `t`. */
export function uiSentences(source: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTaggedTemplateExpression(node) && ts.isIdentifier(node.tag) && node.tag.text === 'sentence')
      found.push(ts.isTemplateExpression(node.template) ? templateText(node.template) : node.template.text);
    const [first] = ts.isCallExpression(node) && /(?:^|\.)t$/.test(calledName(node.expression)) ? node.arguments : [];
    if (first !== undefined && ts.isStringLiteralLike(first)) found.push(first.text);
    ts.forEachChild(node, visit);
  };
  visit(sourceTree('texts.ts', source));
  return found;
}

function calledName(called: ts.Expression): string {
  if (ts.isPropertyAccessExpression(called)) return `${calledName(called.expression)}.${called.name.text}`;
  return ts.isIdentifier(called) ? called.text : '';
}

/** `{0} of {1}`: a template as `sentence` writes it. */
export function templateText({ head, templateSpans }: ts.TemplateExpression): string {
  return templateSpans.reduce((before, { literal }, index) => `${before}{${index}}${literal.text}`, head.text);
}
