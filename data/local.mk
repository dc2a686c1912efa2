bashcompdir = $(datadir)/bash-completion/completions
dist_bashcomp_DATA = data/bash/tbtui
zshcompdir = $(datadir)/zsh/site-functions
dist_zshcomp_DATA = data/zsh/_tbtui
