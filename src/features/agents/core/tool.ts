import type * as v from 'valibot';
import type { CancelSignal } from '../../../core/errors';
import type { ResolveDefaults } from '../../../core/plan-request/scenario';
import type { LauncherReader } from '../../../core/run/facts';
import type { ReadReferenced } from '../../../core/run/run';

/** A text and the name it goes by. */
export interface SourceText {
  readonly file: string;
  readonly text: string;
}

/** Where a tool reads and how it is stopped. It has no way to write. */
export interface ToolHost {
  /** Reads a file that was asked for. Rejects with ExpectedError, also for one outside the folders that may be read. */
  readonly open: (path: string) => Promise<SourceText>;
  /** Reads what a config names. */
  readonly read: ReadReferenced;
  readonly shell: () => Promise<LauncherReader>;
  /** What holds where neither the file nor the question sets it. */
  readonly defaults: ResolveDefaults;
  readonly signal: CancelSignal;
  /** Hears how far long work is. */
  readonly progress: (text: string) => void;
  /** Milliseconds since some moment. */
  readonly clock: () => number;
}

/** What a tool answers. */
export interface ToolAnswer {
  /** Plain sentences, a line each. */
  readonly text: string;
  /** The same as data: times ms, memory bytes, lengths tokens. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

type InputSchema = v.ObjectSchema<v.ObjectEntries, undefined> | v.StrictObjectSchema<v.ObjectEntries, undefined>;

/** A question that agents may ask. */
export interface Tool<S extends InputSchema = InputSchema> {
  readonly title: string;
  /** What it answers and when to call it: the only text that a model reads before it calls. */
  readonly description: string;
  readonly input: S;
  /** A call that works, which a refusal of bad input shows. */
  readonly example: v.InferInput<S>;
  /** (As a method, so that a list may hold tools of different inputs.) @throws ExpectedError; CancelledError. */
  run(asked: v.InferOutput<S>, host: ToolHost): Promise<ToolAnswer> | ToolAnswer;
}

/** A tool whose `run` knows the types of its input. */
export function defineTool<const S extends InputSchema>(tool: Tool<S>): Tool<S> {
  return tool;
}
