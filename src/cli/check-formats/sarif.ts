import { createHash } from 'node:crypto';
import { version } from '../../../package.json';
import { mostSevereFirst, type Finding, type Fix, type TextEdit } from '../../core/findings';
import { groupedBy } from '../../core/records';
import { lineColumnAt } from '../../core/text';
import { say } from '../../core/sentence';
import type { Texts } from '../answer';
import type { CheckReport } from '../checked';
import { fileUri } from './file-uri';
import { plainText, type RulePage } from './rule-pages';

/** Words of SARIF for a severity. */
const levels = { error: 'error', warning: 'warning', information: 'note' } as const;

/** Longest text of a rule that code scanning takes. */
const longestText = 1024;

/** What the log is written from. */
interface Written extends Pick<CheckReport, 'texts'> {
  /** Files are named relative to it. */
  readonly folder: string;
  readonly pages: ReadonlyMap<string, RulePage>;
}

/**
 * The findings as a log in SARIF 2.1.0 (OASIS), errors first, with rules from their pages, fixes as replacements, and fingerprints that
 * stay when figures or lines above change: of the code and the text of the line.
 */
export function sarifText(report: CheckReport, folder: string, pages: ReadonlyMap<string, RulePage>): string {
  const findings = mostSevereFirst(report.findings);
  const codes = [...new Set(findings.map(({ code }) => code))];
  const written: Written = { texts: report.texts, folder, pages };
  const seen = new Map<string, number>();
  const log = {
    $schema: 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: { name: 'terapipe', semanticVersion: version, rules: codes.map((code) => rule(code, findings, pages.get(code))) },
        },
        invocations: [{ executionSuccessful: codes.every((code) => code !== 'internal') }],
        columnKind: 'utf16CodeUnits',
        artifacts: report.files.map((file) => ({ location: { uri: fileUri(file, folder) } })),
        results: findings.map((finding) => result(finding, codes, written, seen)),
      },
    ],
  };
  return JSON.stringify(log, null, 2);
}

function rule(code: string, findings: readonly Finding[], page: RulePage | undefined): object {
  const example = findings.find((finding) => finding.code === code);
  const message = example === undefined ? code : say(example.message);
  const { short, full, whole } = page ?? { short: message, full: message, whole: message };
  return {
    id: code,
    shortDescription: { text: cut(plainText(short)) },
    fullDescription: { text: cut(plainText(full)) },
    help: { text: plainText(whole), markdown: whole },
    defaultConfiguration: { level: levels[example?.severity ?? 'warning'] },
  };
}

function cut(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText - 1)}…` : text;
}

function result(finding: Finding, codes: readonly string[], written: Written, seen: Map<string, number>): object {
  const { code, severity, place, message, remedy, fixes } = finding;
  const artifactLocation = { uri: fileUri(place.file, written.folder) };
  return {
    ruleId: code,
    ruleIndex: codes.indexOf(code),
    level: levels[severity],
    message: { text: `${say(message)}; ${say(remedy)}` },
    locations: [{ physicalLocation: { ...(place.file === '' ? {} : { artifactLocation }), region: region(finding, written.texts) } }],
    partialFingerprints: { primaryLocationLineHash: fingerprint(finding, written.texts, seen) },
    ...(fixes.length === 0 ? {} : { fixes: fixes.map((fix) => sarifFix(fix, written)) }),
  };
}

/** Lines and columns from 1, the end exclusive. */
function region({ place: { file, range } }: Pick<TextEdit, 'place'>, texts: Texts): object {
  const text = texts.get(file) ?? '';
  const [start, end] = [lineColumnAt(text, range.start), lineColumnAt(text, range.end)];
  return { startLine: start.line, startColumn: start.column, endLine: end.line, endColumn: end.column };
}

/** The hash of the code and the line that it is about, and which of the same in its file it is. */
function fingerprint({ code, place: { file, range } }: Finding, texts: Texts, seen: Map<string, number>): string {
  const text = texts.get(file) ?? '';
  const { line } = lineColumnAt(text, range.start);
  const lineText = (text.split(/\r\n|\n|\r/)[line - 1] ?? '').trim();
  const hash = createHash('sha256').update(`${code}\n${lineText}`).digest('hex').slice(0, 16);
  const count = (seen.get(`${file}\n${hash}`) ?? 0) + 1;
  seen.set(`${file}\n${hash}`, count);
  return `${hash}:${count}`;
}

function sarifFix({ title, edits }: Fix, { texts, folder }: Written): object {
  const byFile = groupedBy(edits, ({ place }) => place.file);
  return {
    description: { text: say(title) },
    artifactChanges: [...byFile].map(([file, ofFile]) => ({
      artifactLocation: { uri: fileUri(file, folder) },
      replacements: ofFile.map((edit) => ({ deletedRegion: region(edit, texts), insertedContent: { text: edit.newText } })),
    })),
  };
}
