import { understand } from './arguments';

/** The help or the version that a command line asks for; null: it asks for a command, or is one that a command refuses. */
export function textAtOnce(args: readonly string[]): string | null {
  try {
    const understood = understand(args);
    return 'help' in understood ? understood.help : null;
  } catch {
    return null;
  }
}
