import { CancelledError, ExpectedError } from '../core/errors';
import { asksForJson, errorJson, errorLine, printedPieces } from './answer';
import { understand } from './arguments';
import { internalError, type Terminal } from './terminal';
import { sentence } from '../core/sentence';

/** Runs a command line and returns the exit status: 0 fine, 1 findings of severity error, 2 bad input, 3 internal error. Never throws. */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<0 | 1 | 2 | 3> {
  const texts = new Map<string, string>();
  // Also after a mistake in the other arguments, whoever asked for JSON gets JSON.
  let json = asksForJson(args);
  try {
    const understood = understand(args);
    if ('help' in understood) {
      terminal.out(understood.help);
      return 0;
    }
    json = understood.json;
    const answer = await understood.run(terminal, texts);
    for (const piece of printedPieces(answer, json)) {
      if (piece === '') continue;
      terminal.out(piece);
      await terminal.drained?.();
    }
    return answer.exitCode;
  } catch (error) {
    if (error instanceof CancelledError) {
      if (json) terminal.out(`${JSON.stringify(errorJson(cancelled, texts))}\n`);
      terminal.err(`${errorLine(cancelled, texts)}\n`);
      return 1;
    }
    const expected = error instanceof ExpectedError;
    const shown = expected ? error : internalError(error);
    if (json) terminal.out(`${JSON.stringify(errorJson(shown, texts))}\n`);
    terminal.err(`${errorLine(shown, texts)}\n`);
    if (!expected && terminal.debug && error instanceof Error) terminal.err(`${error.stack ?? ''}\n`);
    return expected ? 2 : 3;
  }
}

const cancelled = new ExpectedError('cancelled', sentence`Cancelled before there was an answer`, sentence`run it again`);
