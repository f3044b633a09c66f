A=x
A+=$A$A
B=${A//x/$A}
srun $B --num-layers 2 --hidden-size 64 ${${${${${${${${$(($(($(($(($(($(($(($((
