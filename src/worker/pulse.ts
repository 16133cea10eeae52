/** Questions in a row that a process may leave unanswered. Each is a turn of our own timer: on a busy machine they take longer. */
const mostUnanswered = 15;

/** Whether a process that is asked again and again still answers, however long its work takes. */
interface Pulse {
  /** Counts a question. @returns false where too many before it were not answered. */
  readonly ask: () => boolean;
  /** Any sign of life. */
  readonly beat: () => void;
}

export function createPulse(): Pulse {
  let unanswered = 0;
  return {
    ask: () => {
      unanswered += 1;
      return unanswered <= mostUnanswered;
    },
    beat: () => {
      unanswered = 0;
    },
  };
}
