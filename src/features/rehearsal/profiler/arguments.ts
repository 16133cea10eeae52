/** Argument of the child that runs stages of a rehearsal. */
export const stageArgument = 'stage';
