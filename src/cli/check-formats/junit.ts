import { groupedBy } from '../../core/records';
import { printable } from '../../core/text';
import { findingLine, printedFinding, type PrintedFinding } from '../answer';
import type { CheckReport } from '../checked';
import { relativeFile } from './file-uri';

/**
 * The findings as JUnit's XML, as GitLab and Jenkins show it: a suite for each file, a case for each code that is found in it. A finding
 * that fails the check is a failure, any other is output of a case that passes; a file without findings has one case.
 */
export function junitText(report: CheckReport, folder: string, isStrict: boolean): string {
  const printed = report.findings.map((finding) => printedFinding(finding, report.texts));
  const files = [...new Set([...report.files, ...printed.map(({ file }) => file)])];
  const suites = files.map((file) => {
    const ofFile = printed.filter((finding) => finding.file === file);
    return suite(relativeFile(file, folder), findingCases(ofFile, isStrict));
  });
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites name="terapipe check">', ...suites, '</testsuites>'].join('\n');
}

interface Case {
  readonly code: string;
  readonly findings: readonly PrintedFinding[];
  readonly isFailed: boolean;
}

function findingCases(ofFile: readonly PrintedFinding[], isStrict: boolean): Case[] {
  const fails = ({ severity }: PrintedFinding): boolean => severity === 'error' || (isStrict && severity === 'warning');
  return [...groupedBy(ofFile, ({ code }) => code)].map(([code, findings]) => ({ code, findings, isFailed: findings.some(fails) }));
}

function suite(file: string, cases: readonly Case[]): string {
  const failures = cases.filter(({ isFailed }) => isFailed).length;
  const passed = `    <testcase classname="${attribute(file)}" name="starts and fits"/>`;
  const lines = cases.length === 0 ? [passed] : cases.map((each) => testCase(file, each));
  return [
    `  <testsuite name="${attribute(file)}" tests="${lines.length}" failures="${failures}" errors="0">`,
    ...lines,
    '  </testsuite>',
  ].join('\n');
}

function testCase(file: string, { code, findings, isFailed }: Case): string {
  const lines = content(findings.map(findingLine).join('\n'));
  const [first] = findings;
  const body = isFailed
    ? `<failure type="${attribute(code)}" message="${attribute(first?.message ?? '')}">${lines}</failure>`
    : `<system-out>${lines}</system-out>`;
  return `    <testcase classname="${attribute(file)}" name="${attribute(code)}">${body}</testcase>`;
}

function content(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Characters that XML forbids are shown as escapes. */
function attribute(text: string): string {
  return content(printable(text)).replaceAll('"', '&quot;');
}
