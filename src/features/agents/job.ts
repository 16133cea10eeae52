import * as v from 'valibot';
import type { ResolveDefaults } from '../../core/plan-request/scenario';
import type { Sentence } from '../../core/sentence';
import { ours } from '../../protocol/thread-values';
import type { ToolAnswer } from './core/tool';

/** A file that a call reads: `path` as it is written in the file `from`; null: as the agent wrote it. */
const fileRead = v.object({ from: v.nullable(v.string()), path: v.string() });
export type FileRead = v.InferOutput<typeof fileRead>;

/** What came of reading one: its text and the name it goes by, or why there is none. */
const fileContent = v.object({
  ...fileRead.entries,
  found: v.variant('kind', [
    v.object({ kind: v.literal('text'), file: v.string(), text: v.string() }),
    v.object({
      kind: v.literal('failure'),
      file: v.string(),
      code: v.string(),
      what: ours<Sentence>({ template: v.string() }),
      remedy: ours<Sentence>({ template: v.string() }),
    }),
  ]),
});
export type FileContent = v.InferOutput<typeof fileContent>;

/**
 * Asks for the answer of a tool. The thread reads no files, since their texts may not be saved yet: where it needs one that is not among
 * `files` it answers which, and is asked again with that.
 */
export const toolJob = {
  asks: v.object({
    name: v.string(),
    input: v.unknown(),
    defaults: ours<ResolveDefaults>({ gpu: v.string() }),
    files: v.array(fileContent),
  }),
  answers: v.variant('kind', [
    v.object({ kind: v.literal('answer'), answer: ours<ToolAnswer>({ text: v.string() }) }),
    v.object({ kind: v.literal('reads'), reads: v.pipe(v.array(fileRead), v.minLength(1)) }),
  ]),
};
