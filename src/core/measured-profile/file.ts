import { createScanner, findNodeAtLocation, parseTree, type Node, type ParseError } from 'jsonc-parser';
import * as v from 'valibot';
import { ExpectedError } from '../errors';
import { formatCount } from '../format';
import type { Place } from '../domain/located';
import { quoted } from '../text';
import type { Cell, LaunchFloor, PartFit, Profile, Sample, TimeFit, LayerShape } from '../domain/profile';
import { profileSchema } from './schema';
import { profileOfTorch, torchProfileKind, torchProfileSchema } from './torch';
import { sentence, type Sentence, type Value } from '../sentence';

/** Profiles are some hundred kilobytes; more than this is a mistake. UTF-16 units here, bytes where files are read. */
export const maximumProfileBytes = 4 * 2 ** 20;

const maximumDepth = 16;

/** jsonc-parser's `SyntaxKind`, a const enum that isolated modules cannot name. */
const token = { openBrace: 1, closeBrace: 2, openBracket: 3, closeBracket: 4, endOfFile: 17 } as const;

/** Digits of a time that are kept: a thousandth of what is measured is noise already. */
const significantDigits = 6;

/** `profile` as a file: keys always in the same order, times to six digits, a newline at the end. Equal profiles give equal texts. */
export function profileText(profile: Profile): string {
  const { samples, fit, shape, device, errors } = profile;
  const ordered: Profile = {
    version: profile.version,
    kind: profile.kind,
    status: profile.status,
    error: profile.error,
    measuredAt: profile.measuredAt,
    source: profile.source,
    device: { kind: device.kind, name: device.name, memoryBytes: device.memoryBytes, driver: device.driver },
    provider: profile.provider,
    versions: Object.fromEntries(Object.entries(profile.versions).sort(([a], [b]) => (a < b ? -1 : 1))),
    title: profile.title,
    tensor: profile.tensor,
    shape: orderedShape(shape),
    precision: profile.precision,
    tf32: profile.tf32,
    launches: profile.launches && orderedLaunches(profile.launches),
    sequenceLength: profile.sequenceLength,
    largestBatch: profile.largestBatch,
    attention: { forward: profile.attention.forward, backward: profile.attention.backward },
    threads: profile.threads,
    samples: {
      layer: samples.layer.map(orderedSample),
      embedding: samples.embedding.map(orderedSample),
      head: samples.head.map(orderedSample),
    },
    skipped: profile.skipped.map(({ part, reason, detail, ...cell }) => ({ part, ...orderedCell(cell), reason, detail })),
    twoLayerRatio: profile.twoLayerRatio === null ? null : rounded(profile.twoLayerRatio),
    fit: fit === null ? null : { layer: orderedPart(fit.layer), embedding: orderedEnd(fit.embedding), head: orderedEnd(fit.head) },
    errors: errors === null ? null : { forward: orderedError(errors.forward), backward: orderedError(errors.backward) },
    seconds: rounded(profile.seconds),
    warnings: profile.warnings,
  };
  return `${JSON.stringify(ordered, null, 2)}\n`;
}

function orderedShape(shape: LayerShape): LayerShape {
  const { hidden, heads, kvHeads, headDim, ffn, gatedMlp, norm, rotary, qkvBias, attentionOutputBias, mlpBias, qkNorm } = shape;
  const { experts, vocab, learnedPositions } = shape;
  return {
    hidden,
    heads,
    kvHeads,
    headDim,
    ffn,
    gatedMlp,
    norm,
    rotary,
    qkvBias,
    attentionOutputBias,
    mlpBias,
    qkNorm,
    experts: experts === null ? null : { count: experts.count, active: experts.active },
    vocab,
    learnedPositions,
  };
}

function orderedLaunches({ perNodeUs, perProductUs, forwardMs, backwardMs }: LaunchFloor): LaunchFloor {
  return {
    perNodeUs: rounded(perNodeUs),
    perProductUs: rounded(perProductUs),
    forwardMs: rounded(forwardMs),
    backwardMs: rounded(backwardMs),
  };
}

function orderedCell({ batch, tokens, context }: Cell): Cell {
  return { batch, tokens, context };
}

function orderedSample(sample: Sample): Sample {
  const { forwardMs, backwardMs, rounds, holdOut } = sample;
  return { ...orderedCell(sample), forwardMs: rounded(forwardMs), backwardMs: rounded(backwardMs), rounds, holdOut };
}

function orderedEnd(part: PartFit | null): PartFit | null {
  return part && orderedPart(part);
}

function orderedPart({ forward, backward }: PartFit): PartFit {
  return { forward: orderedFit(forward), backward: orderedFit(backward) };
}

function orderedFit({ rows, square, context }: TimeFit): TimeFit {
  return {
    rows: { tokens: rows.tokens, ms: rows.ms.map(rounded) },
    square: rounded(square),
    context: {
      constant: rounded(context.constant),
      perRow: rounded(context.perRow),
      perContext: rounded(context.perContext),
      perRowContext: rounded(context.perRowContext),
      perContextSquare: rounded(context.perContextSquare),
    },
  };
}

function orderedError({ meanPercent, maxPercent, cells, method }: NonNullable<Profile['errors']>['forward']) {
  return { meanPercent: rounded(meanPercent), maxPercent: rounded(maxPercent), cells, method };
}

function rounded(value: number): number {
  return Number(value.toPrecision(significantDigits)) + 0;
}

/**
 * Reads a profile, or what the PyTorch runtime measured (`train.py --profile`).
 * @throws ExpectedError, placed: `profile-syntax` (not JSON, too large, too deep), `profile-version` (of a newer TeraPipe),
 * `profile-invalid` (a value that no profile has).
 */
export function parseProfile(text: string, file: string): Profile {
  const clean = text.startsWith('\uFEFF') ? ` ${text.slice(1)}` : text;
  refuseUnfit(clean, file);
  const errors: ParseError[] = [];
  const root = parseTree(clean, errors, { disallowComments: true, allowTrailingComma: false });
  const [first] = errors;
  if (first !== undefined || root === undefined)
    throw syntaxError(sentence`This is not JSON`, file, clean, first?.offset ?? 0, first?.length ?? 0);
  refuseOthers(root, file);
  if (findNodeAtLocation(root, ['kind'])?.value === torchProfileKind) {
    const torch = v.safeParse(torchProfileSchema, valueOf(clean, file));
    if (!torch.success) throw valueError(torch.issues[0], root, file);
    return profileOfTorch(torch.output);
  }
  const result = v.safeParse(profileSchema, valueOf(clean, file));
  if (!result.success) throw valueError(result.issues[0], root, file);
  refuseUnsorted(result.output, root, file);
  return result.output;
}

/** The text's value. Where the two parsers differ on what JSON is, the strict one decides. */
function valueOf(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw syntaxError(sentence`This is not JSON`, file, text, 0, 0);
  }
}

function refuseUnfit(text: string, file: string): void {
  if (text.length > maximumProfileBytes) throw syntaxError(sentence`The file is over 4 MB, too large for a profile`, file, text, 0, 0);
  if (text.trim() === '') throw syntaxError(sentence`The file is empty`, file, text, 0, 0);
  const scanner = createScanner(text, true);
  let depth = 0;
  for (let kind = toNumber(scanner.scan()); kind !== token.endOfFile; kind = toNumber(scanner.scan())) {
    if (kind === token.openBrace || kind === token.openBracket) depth += 1;
    else if (kind === token.closeBrace || kind === token.closeBracket) depth -= 1;
    if (depth > maximumDepth)
      throw syntaxError(sentence`Nested more than ${maximumDepth} levels deep`, file, text, scanner.getTokenOffset(), 1);
  }
}

function toNumber(kind: number): number {
  return kind;
}

function syntaxError(message: Sentence, file: string, text: string, offset: number, length: number): ExpectedError {
  const start = Math.min(offset, text.length);
  const range = { start, end: Math.min(start + length, text.length) };
  return new ExpectedError('profile-syntax', message, sentence`name a file that terapipe profile wrote`, { file, range });
}

function refuseOthers(root: Node, file: string): void {
  const kind = findNodeAtLocation(root, ['kind']);
  if (root.type !== 'object' || (kind?.value !== 'terapipe-profile' && kind?.value !== torchProfileKind))
    throw new ExpectedError(
      'profile-invalid',
      sentence`This is not a profile: its "kind" is not "terapipe-profile"`,
      sentence`name a file that terapipe profile wrote`,
      nodePlace(kind ?? { offset: root.offset, length: Math.min(root.length, 1) }, file),
    );
  const version = findNodeAtLocation(root, ['version']);
  const number: unknown = version?.value;
  if (version !== undefined && typeof number === 'number' && number > 1)
    throw new ExpectedError(
      'profile-version',
      sentence`The profile is of version ${number}, written by a newer TeraPipe`,
      sentence`update the extension, or profile again`,
      nodePlace(version, file),
    );
}

function valueError(issue: v.BaseIssue<unknown>, root: Node, file: string): ExpectedError {
  const path = (issue.path ?? []).map(({ key }) => (typeof key === 'number' ? key : String(key)));
  const found = findNodeAtLocation(root, path);
  const owner = found ?? findNodeAtLocation(root, path.slice(0, -1)) ?? root;
  const name = path.reduce<string>(
    (all, key) => (typeof key === 'number' ? `${all}[${key}]` : [all, key].filter((part) => part !== '').join('.')),
    '',
  );
  if (found === undefined)
    return invalid(sentence`${quoted(name)} is missing`, { offset: owner.offset, length: Math.min(owner.length, 1) }, file);
  const expected = issue.expected === null ? '' : sentence` (expected ${issue.expected})`;
  return invalid(sentence`${quoted(name)} is ${describe(found)}, which no profile has${expected}`, found, file);
}

function describe({ type, value }: Node): Value {
  if (type === 'array') return sentence`this list`;
  if (type === 'object') return sentence`this object`;
  return typeof value === 'string' ? quoted(value) : String(value);
}

function invalid(message: Sentence, node: Pick<Node, 'offset' | 'length'>, file: string): ExpectedError {
  return new ExpectedError(
    'profile-invalid',
    message,
    sentence`profile again, or take an unchanged copy of the file`,
    nodePlace(node, file),
  );
}

function nodePlace({ offset, length }: Pick<Node, 'offset' | 'length'>, file: string): Place {
  return { file, range: { start: offset, end: offset + length } };
}

/** What is wrong between values: tables ascend and have a time for each length. */
function refuseUnsorted({ fit }: Profile, root: Node, file: string): void {
  for (const part of ['layer', 'embedding', 'head'] as const)
    for (const direction of ['forward', 'backward'] as const) {
      const rows = fit?.[part]?.[direction].rows;
      if (rows === undefined) continue;
      const at = (...path: readonly (string | number)[]): Node =>
        findNodeAtLocation(root, ['fit', part, direction, 'rows', ...path]) ?? root;
      const falling = rows.tokens.findIndex((length, i) => i > 0 && length <= (rows.tokens[i - 1] ?? 0));
      if (falling !== -1)
        throw invalid(
          sentence`Lengths of a table ascend, but ${formatCount(rows.tokens[falling] ?? 0)} does not`,
          at('tokens', falling),
          file,
        );
      if (rows.tokens.length !== rows.ms.length)
        throw invalid(sentence`The table has ${rows.tokens.length} lengths and ${rows.ms.length} times`, at('ms'), file);
    }
}

/**
 * A name for the profile's file: device, model, tensor size and precision for the eye, and eight hexadecimal digits that differ where
 * device, driver, provider, shape, attention, precision or sequence length differ. Measuring the same again gives the same name.
 */
export function profileFileName({
  device,
  title,
  tensor,
  precision,
  provider,
  source,
  shape,
  attention,
  sequenceLength,
  largestBatch,
  threads,
}: Profile): string {
  const key = [device.kind, device.name, device.memoryBytes, device.driver, provider, source, title, tensor, precision];
  const content = JSON.stringify([
    ...key,
    orderedShape(shape),
    attention.forward,
    attention.backward,
    sequenceLength,
    largestBatch,
    threads,
  ]);
  const parts = [slug(device.name), slug(title), ...(tensor > 1 ? [`tp${tensor}`] : []), precision, hash(content)];
  return `${parts.filter((part) => part !== '').join('-')}.json`;
}

/** Lower-case letters, digits and single dashes, at most 40. */
function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '');
}

/** FNV-1a over UTF-16 units, 32 bits, as eight hexadecimal digits. */
function hash(text: string): string {
  let bits = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) bits = Math.imul(bits ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return bits.toString(16).padStart(8, '0');
}
