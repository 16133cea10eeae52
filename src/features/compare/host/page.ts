import type { PageComparison, SentAnswer } from '../protocol';
import type { PageError } from '../../../protocol/page-error';
import type { ComparisonState } from './comparison-host';
import { toPageError } from '../../../host/pages/page-state';

/** What a page needs in addition to the comparison. */
interface ComparisonPageContext {
  readonly displayPath: (file: string) => string;
  /** The texts that the files of a config were read as. */
  readonly sessionTexts: (file: string) => ReadonlyMap<string, string>;
  /** Id of the answer that the page has; null: none. */
  readonly sent: string | null;
}

/** The comparison of a config as a page gets it; null where nothing is compared. @param file of the config. */
export function toPageComparison(file: string, state: ComparisonState | null, context: ComparisonPageContext): PageComparison | null {
  if (state === null) return null;
  const { other, running, answer, staleEdits } = state;
  return {
    other: otherSide(file, other, context),
    answer: answer !== null && answer.id === context.sent ? sentAnswer(answer.id) : answer,
    error: comparisonPageError(file, state, context),
    running,
    staleEdits,
  };
}

function otherSide(file: string, other: ComparisonState['other'], { displayPath }: ComparisonPageContext): PageComparison['other'] {
  if (other.kind === 'rehearsed') return { role: 'measured', file: other.name };
  if (other.kind === 'earlier') return { role: 'earlier', file: other.name };
  return { role: other.kind, file: displayPath(other.kind === 'best' ? file : other.file) };
}

function sentAnswer(id: string): SentAnswer {
  return { id, sent: true };
}

/** A place in a measured run is text without a link: the file may be too large for an editor. */
function comparisonPageError(
  file: string,
  { other, error }: ComparisonState,
  { displayPath, sessionTexts }: ComparisonPageContext,
): PageError | null {
  if (error === null) return null;
  const place = error.place ?? null;
  if (other.kind === 'measured' && place?.file === other.file)
    return { ...toPageError(error, null, new Map(), displayPath), placeText: displayPath(other.file) };
  const texts = new Map([...sessionTexts(file), ...(other.kind === 'config' ? sessionTexts(other.file) : [])]);
  return toPageError(error, place, texts, displayPath);
}
