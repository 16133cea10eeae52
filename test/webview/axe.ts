import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

/** axe-core's own script; evaluated from outside, which the policy of the page does not forbid. */
const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Rules of WCAG 2.0, 2.1 and 2.2, levels A and AA, and axe-core's best practices. */
const allRules = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] };

/** Those of them that look at colours: another theme changes nothing else. */
const colorRules = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] };

/** Rows of a long table that are as those above them. */
const rowsAlike = 'tbody tr:nth-child(n+9):not(.marked)';

/** A rule that an element breaks, or may break: axe-core cannot decide. */
export interface AxeResult {
  readonly rule: string;
  readonly help: string;
  readonly selector: string;
  readonly why: string;
}

/** What axe-core reports on a page as it is. */
export interface AxeReport {
  readonly violations: readonly AxeResult[];
  readonly incomplete: readonly AxeResult[];
  /** How many rules found something to judge, and passed. */
  readonly passes: number;
}

/** Brings axe-core into a page; returns its version. */
export async function injectAxe(page: Pick<Page, 'evaluate'>): Promise<string> {
  await page.evaluate(source);
  return page.evaluate<string>('axe.version');
}

/** Has axe-core look at the page as it is. */
export async function runAxe(page: Pick<Page, 'evaluate'>, rules: 'all' | 'colors'): Promise<AxeReport> {
  const runOnly = JSON.stringify(rules === 'all' ? allRules : colorRules);
  const context = JSON.stringify({ include: ['html'], exclude: [rowsAlike] });
  return page.evaluate<AxeReport>(`(async () => {
    const { violations, incomplete, passes } = await axe.run(${context}, { runOnly: ${runOnly}, resultTypes: ['violations', 'incomplete'], preload: false });
    const results = ({ id, help, nodes }) => nodes.map(({ target, any, all, none }) => ({
      rule: id,
      help,
      selector: target.flat().join(' '),
      why: [...any, ...all, ...none].map(({ message }) => message).join('; '),
    }));
    return { violations: violations.flatMap(results), incomplete: incomplete.flatMap(results), passes: passes.length };
  })()`);
}
