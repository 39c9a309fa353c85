/** The interpreter that the near side runs with; an installation writes the absolute path here. */
export const interpreter = ['python3', '-I', '-S']
