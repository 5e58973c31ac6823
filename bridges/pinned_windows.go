package bridges

// noBlock is for pipes in directories, which Windows does not have.
const noBlock = 0
