import { servedRequest } from '../core/answer';
import { planPrefill, servedPrefill, timesOfLengths } from '../core/prefill';
import { servedModel, usualPrompt } from '../core/served-model';
import type { Answer } from '../../../cli/answer';
import type { Line } from '../../../cli/command';
import { readLengths } from '../../../cli/problems/lengths';
import { namedConfig, readInto, runConfig } from '../../../cli/read-config';
import type { Terminal } from '../../../cli/terminal';
import { prefillAnswer, type PrefillExport } from './answer';
import { maximum } from '../../../core/numbers';

/** What `prefill` is asked for, as its options say. */
interface AskedPrefill {
  /** Tokens; null: those of `lengths`, else as many as the model has positions for. */
  readonly prompt: number | null;
  /** A file of lengths of prompts. */
  readonly lengths: string | undefined;
  /** Longest that a chunk may take. */
  readonly capMs: number;
  readonly to: PrefillExport | null;
}

/** `terapipe prefill` of the config that the line names. @throws ExpectedError as `readLengths`, `namedConfig` and the planner. */
export async function prefillNamed(line: Line, wanted: AskedPrefill, terminal: Terminal, texts: Map<string, string>): Promise<Answer> {
  const { prompt, capMs, to } = wanted;
  const lengths = wanted.lengths === undefined ? null : readLengths(await readInto(texts, wanted.lengths));
  const { run } = await runConfig(await namedConfig(line, terminal, texts), line, texts);
  const tokens = prompt ?? (lengths === null ? usualPrompt(run) : maximum(lengths.map((each) => each.tokens)));
  const request = servedRequest(run, { tokens, stages: null }, line.defaults);
  const prefill = planPrefill(request, capMs, terminal.signal);
  const { timeToFirstTokenMs: ms } = prefill;
  const times = lengths === null ? { meanMs: ms, p50Ms: ms, p99Ms: ms } : timesOfLengths(request, lengths, capMs, terminal.signal);
  const prompts = lengths?.reduce((sum, { count }) => sum + count, 0) ?? 1;
  const served = servedPrefill(request, lengths, capMs);
  return prefillAnswer({ request, model: servedModel(run), prefill, times, prompts, served, to });
}
