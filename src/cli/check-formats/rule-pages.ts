import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { systemCode } from '../../files/system-reason';

/** The page of a finding in a document, in Markdown. */
export interface RulePage {
  /** Its first sentence. */
  readonly short: string;
  /** Its first paragraph. */
  readonly full: string;
  /** All of it. */
  readonly whole: string;
}

/** The pages of findings and errors in `findings.md` of a folder, by code; none where that folder has no such document. */
export async function readRulePages(folder: string | undefined): Promise<ReadonlyMap<string, RulePage>> {
  if (folder === undefined) return new Map();
  try {
    return rulePages(await readFile(path.join(folder, 'findings.md'), 'utf8'));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return new Map();
    throw error;
  }
}

/** The sections of a document whose headings are codes. */
function rulePages(document: string): ReadonlyMap<string, RulePage> {
  const pages = new Map<string, RulePage>();
  for (const section of document.split(/^#+ /m)) {
    const [, code, body] = /^`([\w-]+)`\s+([^]*)/.exec(section) ?? [];
    if (code === undefined || body === undefined) continue;
    const whole = body.replace(/<!--[^]*?-->/g, '').trim();
    const full = whole.split(/\n\s*\n/, 1)[0] ?? '';
    pages.set(code, { whole, full, short: full.split(/(?<=[.!?"])\s+(?=[A-Z`"])/, 1)[0] ?? full });
  }
  return pages;
}

/** Markdown as plain text: words of links, names without their marks. */
export function plainText(markdown: string): string {
  return markdown.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
}
