import { ExpectedError, type CancelSignal } from '../../../core/errors';
import { fileStart } from '../../../core/languages/json/document';
import type { LauncherReader } from '../../../core/run/facts';
import type { AnswerTo, JobInput } from '../../../protocol/worker';
import { runTool } from '../core/run-tool';
import type { SourceText } from '../core/tool';
import type { FileRead } from '../job';

type AnswerTool = (asked: JobInput<'tool'>, options: { readonly signal: CancelSignal }) => Promise<AnswerTo<'tool'>>;

/** Why a call stops: the asker reads the file first. */
class NotReadYet extends Error {}

/** Answers calls of tools. @param shell reads launch scripts. */
export function makeToolPlanner(shell: () => Promise<LauncherReader>): AnswerTool {
  return async ({ name, input, defaults, files }, { signal }) => {
    const missing: FileRead[] = [];
    const read = (from: string | null, path: string): Promise<SourceText> => {
      const found = files.find((file) => file.from === from && file.path === path)?.found;
      if (found === undefined) {
        missing.push({ from, path });
        return Promise.reject(new NotReadYet());
      }
      if (found.kind === 'failure') return Promise.reject(new ExpectedError(found.code, found.what, found.remedy, fileStart(found.file)));
      return Promise.resolve({ file: found.file, text: found.text });
    };
    try {
      const answer = await runTool(name, input, {
        open: (path) => read(null, path),
        read,
        shell,
        defaults,
        signal,
        progress: () => undefined,
        clock: () => performance.now(),
      });
      if (missing.length === 0) return { kind: 'answer', answer };
    } catch (error) {
      if (!(error instanceof NotReadYet)) throw error;
    }
    return { kind: 'reads', reads: missing };
  };
}
